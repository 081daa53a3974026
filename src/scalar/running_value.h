#pragma once

#include "scalar/expr.h"

#include <functional>
#include <optional>

namespace kawara::scalar {

/// `old op term`: what a scan (a prefix sum, product, maximum or minimum) stores, with `old` the
/// element that the iteration before stored. `old - term` is `old + -term`.
struct RunningValue {
  ReduceOp op = ReduceOp::Sum;
  Expr old;  ///< a Load
  Expr term; ///< reads of the tensor of `old` at most the element that is stored
};

/// What `element = value` or `element op= value` stores as one, with the operand that `is_old`
/// picks as the old one. Nothing where no operand is, or where the others read its tensor in
/// another place. `element` is a Load.
std::optional<RunningValue> running_value(const Expr& element, ReduceOp, const Expr& value,
                                          const std::function<bool(const Load&)>& is_old);

/// The same for any other element of the tensor as the old one.
std::optional<RunningValue> running_value(const Expr& element, ReduceOp, const Expr& value);

} // namespace kawara::scalar
