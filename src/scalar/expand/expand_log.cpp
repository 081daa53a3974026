#include "scalar/expand/formula.h"

#include <limits>
#include <numbers>

namespace kawara::scalar {
namespace {

/// (log(1 + f) - f + f^2/2) / f^3 for 1 + f from sqrt(1/2) to sqrt(2), largest error 2^-27 of the
/// log.
const std::vector<double>& coefficients() {
  static const std::vector<double> c{0x1.555554p-2, -0x1.000226p-2, 0x1.99a01cp-3, -0x1.54728ap-3,
                                     0x1.22d94ap-3, -0x1.0d8274p-3, 0x1.055d82p-3, -0x1.38c486p-4};
  return c;
}

} // namespace

/// x = 2^e * (1 + g), log(x) = e * log(2) + log(1 + g).
Expr expand_log(const Formula& f, const Expr& x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr int64_t kRootOfHalf = 0x3f3504f3; // bits of sqrt(1/2)
  constexpr auto kHigh = static_cast<double>(static_cast<float>(std::numbers::ln2));
  const Expr is_denormal = f.let("tiny", binary(BinaryOp::Lt, x, f.number(0x1p-126)));
  const Expr normal = select(is_denormal, x * f.number(0x1p23), x);
  const Expr bits = f.let("i", unary(UnaryOp::Bits, normal));
  const Expr bit = f.integer(f.lowest_exponent_bit());
  const Expr exponent = f.let("e", binary(BinaryOp::FloorDiv, bits - f.integer(kRootOfHalf), bit));
  const Expr g = f.let("g", unary(UnaryOp::FromBits, bits - exponent * bit) - f.number(1));
  const Expr e =
      f.let("ef", f.narrowed(exponent) + select(is_denormal, f.number(-23), f.number(0)));
  const Expr gg = f.let("gg", g * g);
  const Expr w = f.add_product(f.number(-0.5), g, f.polynomial(coefficients(), g, gg));
  const Expr low = f.add_product(e * f.number(std::numbers::ln2 - kHigh), gg, w);
  const Expr y = f.add_product(g + low, e, f.number(kHigh));
  const Expr finite = select(binary(BinaryOp::Lt, x, f.number(kInfinity)), y, f.number(kInfinity));
  const Expr outside = select(binary(BinaryOp::Eq, x, f.number(0)), f.number(-kInfinity),
                              f.number(std::numeric_limits<double>::quiet_NaN()));
  return select(binary(BinaryOp::Gt, x, f.number(0)), finite, outside);
}

} // namespace kawara::scalar
