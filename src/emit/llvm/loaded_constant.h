#pragma once

// For emit/llvm only: LLVM types.

#include <llvm/IR/IRBuilder.h>

namespace kawara::emit {

/// Constants of vector arithmetic as loads, where these take no place among the arithmetic (AArch64). Left to LLVM, a constant
/// stays in a register, is copied for whatever overwrites it, and is made again (`dup`) where registers are short: instructions
/// that the pipes of arithmetic have to do. Anything but such a constant comes back as it is.
class LoadedConstants {
public:
  explicit LoadedConstants(llvm::IRBuilder<>& b) : b_(b) {}

  /// What a vector fma adds to its product, and overwrites: a load for each register.
  llvm::Value* addend(llvm::Value*);
  /// What is only read, for vectors that take several registers: one load for all of them.
  llvm::Value* operand(llvm::Value*);

private:
  llvm::Value* load(llvm::Constant* element, llvm::FixedVectorType*);
  llvm::Value* zero();

  llvm::IRBuilder<>& b_;
  llvm::BasicBlock* block_ = nullptr; ///< where `zero_` was loaded
  llvm::Value* zero_ = nullptr;
};

} // namespace kawara::emit
