#include "scalar/expand/formula.h"

#include <numbers>

namespace kawara::scalar {

/// With h = (exp(2 z) - 1) / 2 this is h / (1 + h). For small z the rounding of 1 + h would show:
/// with c = z up to 0.6 it is c + (h - c - c * h) / (1 + h), where the quotient is small.
Expr expand_tanh(const Formula& f, const Expr& x) {
  constexpr double kBiasedShifter = 0x1.8p23 + 127;                  // see expand_exp
  const Expr z = f.let("z", f.at_most(unary(UnaryOp::Abs, x), 9.1)); // 1 from there on
  const Expr shifter = f.number(kBiasedShifter);
  const Expr t = f.let("t", f.add_product(shifter, z, f.number(2 / std::numbers::ln2)));
  // ln(2) in one part: n is small, and where it is not the slope of tanh is.
  const Expr r = f.let("r", f.add_product(z, t - shifter, f.number(-std::numbers::ln2 / 2)));
  const Expr rr = f.let("rr", r * r);
  std::vector<double> c = exponential_coefficients();
  double power = 2; // the argument is 2 r, the result half of it
  for (double& coefficient : c) {
    coefficient *= power;
    power *= 2;
  }
  const Expr part = f.add_product(r, rr, f.polynomial(c, r, rr));
  const Expr scale = f.let("s", f.power_of_two(unary(UnaryOp::Bits, t)));
  const Expr half = f.add_product(f.number(-0.5), scale, f.number(0.5));
  const Expr h = f.let("h", f.add_product(half, part, scale));
  const Expr start = f.let("c", f.at_most(z, 0.6));
  const Expr rest = binary(BinaryOp::Div, f.sub_product(h - start, start, h), h + f.number(1));
  return binary(BinaryOp::CopySign, start + rest, x);
}

} // namespace kawara::scalar
