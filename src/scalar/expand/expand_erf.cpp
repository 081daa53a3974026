#include "scalar/expand/formula.h"

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

/// erf(z) for |z| <= kEnd, in the formula's type.
Expr erf_within(const Formula& f, const Expr& z) {
  const Expr s = f.let("s", z * z);
  const Expr ss = f.let("ss", s * s);
  const Expr n = f.add_product(z, z * s, f.polynomial(erf_numerator(), s, ss));
  const Expr d = f.polynomial(erf_denominator(), s, ss);
  return f.add_product(binary(BinaryOp::Div, n, d), z, f.number(kSlope));
}

} // namespace

/// Near zero erf(x) is x + x P(x^2), beyond 1 - exp(-t - t Q(t)) with t = |x|; largest error 2^-26
/// of the result.
constexpr double kNear = 0.927734375;
const std::vector<double>& erf_near_zero() {
  static const std::vector<double> c{0x1.06eba6p-3, -0x1.8126e4p-2, 0x1.ce19e6p-4,
                                     -0x1.b681bp-6, 0x1.46fbc4p-8,  -0x1.38ff6p-11};
  return c;
}
const std::vector<double>& exponent_of_tail() {
  static const std::vector<double> c{0x1.077b3p-3,  0x1.453032p-1,   0x1.b3449p-4,  -0x1.85bc44p-6,
                                     0x1.df0012p-9, -0x1.55937ep-12, 0x1.82b74cp-17};
  return c;
}

/// The quotient in f32 would add its roundings up to 3 units; this takes no division.
Expr expand_erf(const Formula& f, const Expr& x) {
  const Expr t = f.let("t", f.at_most(unary(UnaryOp::Abs, x), 4));
  // The square of less is nothing beside 1.
  const Expr z = f.let("z", f.zero_where(f.is_below(t, 0x1p-30), t));
  const Expr s = f.let("s", z * z);
  const Expr ss = f.let("ss", s * s);
  const Expr near = f.add_product(x, x, f.polynomial(erf_near_zero(), s, ss));
  const Expr exponent =
      f.sub_product(unary(UnaryOp::Neg, z), f.polynomial(exponent_of_tail(), z, s), z);
  const Expr rest = expand_exp_below_zero(f, f.let("x", exponent));
  const Expr tail = binary(BinaryOp::CopySign, f.number(1) - rest, x);
  return select(f.is_above(t, kNear), tail, near);
}

/// Numbers of the tail are taken back to their size beside the smallest normal number
/// (Formula::small_product).
Expr with_tail(const Formula& f, const Expr& sum, const Expr& is_tail) {
  const Expr beside = f.add_product(f.number(-kLeastNormal), sum, f.number(kGeluTailScale));
  const Expr bits = unary(UnaryOp::Bits, beside) - f.integer(f.lowest_exponent_bit());
  return select(is_tail, unary(UnaryOp::FromBits, bits), sum);
}

/// A polynomial for each of many short elements, and the argument itself where it is large.
Expr expand_gelu(const Formula& f, const Expr& x) {
  const Expr low = f.let("low", f.at_least(x, kGeluStart));
  const Expr shift = f.number(kGeluShift);
  const Expr shifted = f.let("m", low + shift);
  const Expr t = f.let("t", low - (shifted - shift));
  const Expr row = f.let("row", unary(UnaryOp::Bits, shifted));
  const Table table = f.avoids_denormals() ? Table::GeluTail : Table::Gelu;
  Expr sum = f.looked_up(table, kTableColumns - 1, row);
  for (size_t k = kTableColumns - 1; k-- > 0;)
    sum = f.add_product(f.looked_up(table, k, row), sum, t);
  Expr inside = f.let("p", sum);
  if (f.avoids_denormals())
    inside = with_tail(f, inside, binary(BinaryOp::Le, x, f.number(kGeluTail)));
  return select(binary(BinaryOp::Gt, x, f.number(kGeluEnd)), x, inside);
}

Expr expand_erf_quickly(const Formula& f, const Expr& x) {
  return erf_within(f, f.let("z", f.at_most(f.at_least(x, -kEnd), kEnd)));
}

Expr expand_gelu_quickly(const Formula& f, const Expr& x) {
  // Far down, 1 + erf may not be exactly zero and must not be multiplied by much.
  const Expr low = f.let("low", f.at_least(x, -15));
  // A zero becomes +0 here: then the sum below has the sign of `half`.
  const Expr erf =
      expand_erf_quickly(f, f.add_product(f.number(0), low, f.number(1 / std::numbers::sqrt2)));
  const Expr half = f.let("half", low * f.number(0.5));
  return f.add_product(half, half, erf);
}

} // namespace kawara::scalar
