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

/// Phi(-z) * exp(z^2/2) * (z + kShift) = 0.5 * (1 + kTail[0] + kTail[1] * u + ...) for 0 <= z <= 14.5, Phi the
/// normal distribution, with u = 1 / (z + kShift) - kMiddle; largest error 2^-26.
constexpr double kShift = 1.5;
constexpr double kMiddle = 0x1.554p-2;
const std::vector<double>& tail() {
  static const std::vector<double> c{0x1.e0701p-3,   0x1.2bb74ap+0,  -0x1.08e13p+0, -0x1.ef4b0ap-1,
                                     0x1.6dedb6p+1,  -0x1.ef7f5p+0,  -0x1.c83dp+1,  0x1.7b3e58p+3,
                                     -0x1.b1aa88p+3, -0x1.3b7874p+3, 0x1.b41e74p+5, -0x1.ab75ap+5};
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

/// exp(-z^2/2) = (1 - twice_lack / 2) * scale * 2^-64, without the rounding of z^2.
struct Bell {
  Expr twice_lack, scale;
};

Bell bell(const Formula& f, const Expr& z) {
  constexpr double kLn2High = 0x1.62e4p-1;            // see expand_exp
  const Expr shifter = f.number(0x1.8p23 + 127 + 64); // the scale of a denormal result is none
  const Expr square = f.let("zz", z * z);
  const Expr excess = f.sub_product(square, z, z);
  const Expr t = f.let("t", f.sub_product(shifter, square, f.number(0.5 / std::numbers::ln2)));
  const Expr n = f.let("n", t - shifter);
  const Expr low = f.sub_product(excess, n, f.number(2 * (std::numbers::ln2 - kLn2High)));
  // -2 r, r being the reduced argument.
  const Expr m = f.let("m", f.add_product(square, n, f.number(2 * kLn2High)) - low);
  const Expr mm = f.let("mm", m * m);
  std::vector<double> c = exponential_coefficients();
  double power = -0.5;
  for (double& coefficient : c) {
    coefficient *= power;
    power *= -0.5;
  }
  return {f.add_product(m, mm, f.polynomial(c, m, mm)),
          f.let("s", f.power_of_two(unary(UnaryOp::Bits, t)))};
}

} // namespace

/// The quotient in f32 would add its roundings up to 3 units.
Expr expand_erf(const Formula& f, const Expr& x) {
  const Expr z = f.at_most(f.at_least(x, -kEnd), kEnd);
  const Formula wide = f.in_f64();
  return f.narrowed(erf_within(wide, wide.let("z", f.widened(z))));
}

/// With z = |x|: max(x, 0) - z * Phi(-z). The second part is 0.5 * z / (z + kShift) * (1 + e) * exp(-z^2/2),
/// of which each factor is known as a number and a small rest, put together from the smallest up.
Expr expand_gelu(const Formula& f, const Expr& x) {
  const Expr z = f.let("z", f.at_most(unary(UnaryOp::Abs, x), 14.5));
  const Bell b = bell(f, z);
  const Expr shift = f.number(kShift);
  const Expr d = f.let("d", z + shift);
  const Expr q = f.let("q", binary(BinaryOp::Div, f.number(1), d));
  // 1 / (z + kShift) = q * (1 + rest), and a change of q by so much changes q * (1 + e) by 1.25 times it.
  const Expr rest =
      f.sub_product(f.sub_product(f.number(1), d, q), f.let("lost", z - (d - shift)), q);
  const Expr lack = f.let("lack", f.sub_product(b.twice_lack, rest, f.number(2 * 1.25)));
  const Expr u = f.let("u", q - f.number(kMiddle));
  const std::vector<double> slopes(tail().begin() + 1, tail().end());
  const Expr e = f.let(
      "e", f.add_product(f.number(tail()[0]), f.polynomial(slopes, u, f.let("uu", u * u)), u));
  const Expr product = f.let("zq", z * q);
  const Expr half = f.let("half", product * f.number(0.5));
  const Expr product_lack = f.sub_product(product, z, q);
  const Expr below =
      f.sub_product(f.add_product(product_lack, half, f.add_product(lack, e, lack)), product, e);
  // The greater of -0 and x keeps the sign of a zero.
  return f.sub_product(f.at_least(x, -0.0), (product - below) * b.scale, f.number(0.5 * 0x1p-64));
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
