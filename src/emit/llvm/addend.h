#pragma once

// For emit/llvm only: LLVM types.

#include <llvm/IR/IRBuilder.h>

namespace kawara::emit {

/// What a vector fma adds to its product. Where the instruction overwrites that (AArch64), a constant is loaded for each use: left to
/// LLVM it stays in a register and is copied each time, which takes the place of arithmetic while loads wait for none.
/// Anything but such a constant comes back as it is.
llvm::Value* loaded_addend(llvm::IRBuilder<>&, llvm::Value* addend);

} // namespace kawara::emit
