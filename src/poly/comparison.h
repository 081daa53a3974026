#pragma once

#include "poly/isl/context.h"
#include "scalar/expr.h"

#include <optional>

namespace kawara::poly {

/// Points where two functions (isl::aff, isl::pw_aff) compare so; nothing for what is no comparison
/// with one inequality or equality.
template <class Function>
std::optional<isl::set> compared(scalar::BinaryOp op, const Function& lhs, const Function& rhs) {
  switch (op) {
  case scalar::BinaryOp::Lt:
    return lhs.lt_set(rhs);
  case scalar::BinaryOp::Le:
    return lhs.le_set(rhs);
  case scalar::BinaryOp::Gt:
    return lhs.gt_set(rhs);
  case scalar::BinaryOp::Ge:
    return lhs.ge_set(rhs);
  case scalar::BinaryOp::Eq:
    return lhs.eq_set(rhs);
  default:
    return std::nullopt;
  }
}

} // namespace kawara::poly
