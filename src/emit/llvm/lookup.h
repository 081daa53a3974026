#pragma once

// For emit/llvm only: LLVM types.

#include "scalar/table.h"

#include <llvm/IR/IRBuilder.h>

namespace kawara::emit {

/// The elements of a column in the rows that the low bits of `row` (an i32, or lanes of them) name,
/// as i32. The table becomes a constant of the module. Lanes in fours load whole rows, which are
/// transposed in registers; what columns have in common LLVM computes once.
llvm::Value* look_up(llvm::IRBuilder<>&, const scalar::Column&, llvm::Value* row);

} // namespace kawara::emit
