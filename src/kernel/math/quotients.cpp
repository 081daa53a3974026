#include "kernel/math/quotients.h"

#include <cmath>
#include <limits>

namespace kawara::kernel {

using scalar::as;
using scalar::BinaryOp;
using scalar::UnaryOp;

bool is_discontinuous(const Expr& e) {
  if (const auto* unary = as<scalar::Unary>(e))
    return unary->op == UnaryOp::Floor || unary->op == UnaryOp::Ceil ||
           unary->op == UnaryOp::Round || unary->op == UnaryOp::Bits;
  return !scalar::is_float(e.type().elem);
}

bool is_cheap_quotient(const scalar::Binary& quotient, const Expr& divisor) {
  const auto* literal = as<scalar::FloatLit>(divisor);
  int exponent = 0;
  return as<scalar::FloatLit>(quotient.lhs) != nullptr ||
         (literal != nullptr && std::frexp(std::fabs(literal->value), &exponent) == 0.5);
}

Expr is_normal_and_finite(const Expr& smallest, const Expr& largest) {
  const auto number = [&](double value) { return scalar::float_lit(value, smallest.type()); };
  return scalar::binary(
      BinaryOp::And,
      scalar::binary(BinaryOp::Le, number(std::numeric_limits<float>::min()), smallest),
      scalar::binary(BinaryOp::Lt, largest, number(std::numeric_limits<float>::infinity())));
}

} // namespace kawara::kernel
