#pragma once

#include "scalar/expr.h"

namespace kawara::scalar {

/// What an update does with the old value and the new one; an assignment (None) combines nothing.
inline BinaryOp operation_of(ReduceOp op) {
  return op == ReduceOp::Sum    ? BinaryOp::Add
         : op == ReduceOp::Prod ? BinaryOp::Mul
         : op == ReduceOp::Max  ? BinaryOp::Max
                                : BinaryOp::Min;
}

} // namespace kawara::scalar
