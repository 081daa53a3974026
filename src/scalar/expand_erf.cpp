#include "scalar/formula.h"

#include <numbers>

namespace kawara::scalar {
namespace {

/// erf(z) / z = kSlope + N(z^2) / D(z^2) for |z| <= 3.93, largest error 2^-25; N(0) is 1. A part of
/// the slope stands by itself so that errors of the quotient show less.
constexpr double kSlope = 0x1.ea79e2p-3;
constexpr double kEnd = 3.93;                // 1 from there on
const std::vector<double>& erf_numerator() { // without N(0)
  static const std::vector<double> c{0x1.41c066p-4, 0x1.d42b48p-6, 0x1.8fe0a8p-13, 0x1.071fep-17,
                                     -0x1.0a65b2p-17};
  return c;
}
const std::vector<double>& erf_denominator() {
  static const std::vector<double> c{0x1.2p+0,      0x1.20f9dap-1,  0x1.067a8ep-3,
                                     0x1.13264ap-6, 0x1.551584p-10, 0x1.66c5c4p-15};
  return c;
}

/// Phi(-z) * exp(z^2/2), Phi the normal distribution, for 0 <= z <= 14.5; largest error 2^-26.
const std::vector<double>& tail_numerator() {
  static const std::vector<double> c{0x1p-1, 0x1.c0188cp-2, 0x1.76212ap-3, 0x1.4b406p-5,
                                     0x1.0ba5dp-8};
  return c;
}
const std::vector<double>& tail_denominator() {
  static const std::vector<double> c{0x1p+0,        0x1.ac4e74p+0, 0x1.334542p+0,
                                     0x1.df3a9ep-2, 0x1.9f306p-4,  0x1.4f7152p-7};
  return c;
}

/// erf(z) for |z| <= kEnd, in the formula's type.
Expr erf_within(const Formula& f, const Expr& z) {
  const Expr s = f.let("s", z * z);
  const Expr ss = f.let("ss", s * s);
  const Expr n = f.add_product(z, z * s, f.polynomial(erf_numerator(), s, ss));
  const Expr d = f.polynomial(erf_denominator(), s, ss);
  return f.add_product(binary(BinaryOp::Div, n, d), z, f.number(kSlope));
}

/// exp(-z) in f64 for 0 <= z <= 125, to 2^-28.
Expr wide_exponential(const Formula& f, const Expr& z) {
  const Expr shifter = f.number(0x1.8p52 + 1023); // see expand_exp
  const Expr t = f.let("t", f.sub_product(shifter, z, f.number(1 / std::numbers::ln2)));
  const Expr r = f.let("r", f.add_product(z, t - shifter, f.number(std::numbers::ln2)));
  const Expr rr = f.let("rr", r * r);
  std::vector<double> c = exponential_coefficients();
  for (size_t i = 1; i < c.size(); i += 2)
    c[i] = -c[i];
  const Expr minus_part = f.let("p", f.sub_product(r, rr, f.polynomial(c, r, rr)));
  const Expr scale = f.let("s", f.power_of_two(unary(UnaryOp::Bits, t)));
  return f.sub_product(scale, minus_part, scale);
}

} // namespace

// The quotients in f32 would add their roundings up to 3 (erf) and 5 (gelu) units.

Expr expand_erf(const Formula& f, const Expr& x) {
  const Expr z = f.at_most(f.at_least(x, -kEnd), kEnd);
  const Formula wide = f.in_f64();
  return f.narrowed(erf_within(wide, wide.let("z", f.widened(z))));
}

/// With z = |x|: max(x, 0) - z * Phi(-z).
Expr expand_gelu(const Formula& f, const Expr& x) {
  const Formula wide = f.in_f64();
  const Expr z = wide.let("z", f.widened(f.at_most(unary(UnaryOp::Abs, x), 14.5)));
  const Expr zz = wide.let("zz", z * z);
  const Expr e = wide_exponential(wide, wide.let("half", zz * wide.number(0.5)));
  const Expr n = wide.polynomial(tail_numerator(), z, zz);
  const Expr d = wide.polynomial(tail_denominator(), z, zz);
  const Expr tail = binary(BinaryOp::Div, n * e, d);
  // The greater of -0 and x keeps the sign of a zero.
  const Expr above = f.widened(f.at_least(x, -0.0));
  return f.narrowed(wide.sub_product(above, z, tail));
}

Expr expand_erf_quickly(const Formula& f, const Expr& x) {
  return erf_within(f, f.let("z", f.at_most(f.at_least(x, -kEnd), kEnd)));
}

Expr expand_gelu_quickly(const Formula& f, const Expr& x) {
  // Far down, 1 + erf may not be exactly zero and must not be multiplied by much.
  const Expr low = f.let("low", f.at_least(x, -15));
  const Expr erf = expand_erf_quickly(f, low * f.number(1 / std::numbers::sqrt2));
  const Expr half = f.let("half", low * f.number(0.5));
  return f.add_product(half, half, erf);
}

} // namespace kawara::scalar
