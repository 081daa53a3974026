#include "scalar/expand/formula.h"

#include <bit>
#include <cmath>
#include <numbers>

namespace kawara::scalar {
namespace {

/// ln(2) in two parts: multiples of the first up to 2^8 are exact.
constexpr double kLn2High = 0x1.62e4p-1;
constexpr double kLn2Low = std::numbers::ln2 - kLn2High;

/// A float this large has no digits behind the point: adding it rounds to an integer, which then
/// stands in the low bits.
constexpr double kShifter = 0x1.8p23;
constexpr int64_t kBias = 127;

/// Smaller results are rounded to zero.
constexpr double kNothing = 0x1p-150;

/// x / (1 + exp(-z)), x being at least -2^64: `scaled_one` * x / (scaled_one + exp(-z) *
/// scaled_one), so that nothing overflows and the result is rounded once even if it is denormal.
struct Gate {
  Expr divisor, scaled_one;
};

Gate gate(const Formula& f, const Exponential& e) {
  const Expr one =
      f.let("one", unary(UnaryOp::FromBits,
                         f.integer(2 * kBias << 23) - e.exponent_of_low * f.integer(1 << 23)));
  // In this order the small sum is rounded first, at a finer grain than the large one.
  return {e.high + f.add_product(one, e.part, e.high), one};
}

/// Of two factors of about equal size, neither of which is more than sqrt(2) times a power of two:
/// where the larger one is below this, their product is below 2^-126.5. Says so of no NaN.
constexpr double kHalfway = 0x1.6ap-64;

/// (exp(r) - 1) / r on |r| <= ln(2)/2, largest error 2^-22.9 of one: 1.1 units of the result, of
/// which those below one are half as large.
const std::vector<double>& short_exponential_coefficients() {
  static const std::vector<double> c{0x1.ffffeep-1, 0x1.fffdbep-2, 0x1.555d6p-3, 0x1.573cbap-5,
                                     0x1.0eab4ep-7};
  return c;
}

/// (exp(r) - 1) / r on |r| <= ln(2)/4, largest error 2^-23.5 of exp(r); found among the floats
/// around the best fit by trying all results.
const std::vector<double>& half_step_coefficients() {
  static const std::vector<double> c{0x1.ffffb4p-1, 0x1.ffffeep-2, 0x1.55f6c8p-3, 0x1.55bd12p-5};
  return c;
}

/// c[0] + c[1] * x + ... term by term: more latency than in pairs, but less registers, so that more
/// vectors stand side by side.
Expr horner(const Formula& f, const std::vector<double>& c, const Expr& x) {
  Expr sum = f.number(c.back());
  for (size_t k = c.size() - 1; k-- > 0;)
    sum = f.add_product(f.number(c[k]), sum, x);
  return sum;
}

} // namespace

const std::vector<double>& exponential_coefficients() {
  static const std::vector<double> c{0x1.fffffcp-2, 0x1.555492p-3, 0x1.5558aep-5, 0x1.123982p-7,
                                     0x1.6a4f28p-10};
  return c;
}

Exponential exponential(const Formula& f, const Expr& z, bool negate, const Expr& excess) {
  const double sign = negate ? -1 : 1;
  const Expr shifter = f.number(kShifter + 2 * kBias);
  const Expr shifted = f.let("t", f.add_product(shifter, z, f.number(sign / std::numbers::ln2)));
  const Expr n = f.let("n", shifted - shifter);
  // r is the reduced argument, of the other sign when negated.
  Expr r = f.add_product(z, n, f.number(-sign * kLn2High));
  if (excess)
    r = r - f.add_product(excess, n, f.number(sign * kLn2Low));
  else
    r = f.add_product(r, n, f.number(-sign * kLn2Low));
  r = f.let("r", r);
  const Expr rr = f.let("rr", r * r);
  std::vector<double> c = exponential_coefficients();
  for (size_t i = 1; i < c.size(); i += 2)
    c[i] *= sign;
  const Expr q = f.polynomial(c, r, rr);
  // Subtracting twice is free, a negation is not.
  const Expr part = negate ? unary(UnaryOp::Neg, f.let("p", f.sub_product(r, rr, q)))
                           : f.let("p", f.add_product(r, rr, q));
  const Expr bits = f.let("i", unary(UnaryOp::Bits, shifted));
  const Expr half = f.let("h", binary(BinaryOp::FloorDiv, bits, f.integer(2)));
  const Expr high = f.let("s", f.power_of_two(bits - half));
  return {part, high, half};
}

Expr expand_exp(const Formula& f, const Expr& x) {
  // Beyond these the result is infinite or zero.
  const Expr z = f.let("z", f.at_most(f.at_least(x, -104.5), 89.5));
  const Exponential e = exponential(f, z, false);
  const Expr large = f.let("e", f.add_product(e.high, e.part, e.high));
  return f.small_product(large, f.power_of_two(e.exponent_of_low), f.is_below(large, kHalfway));
}

/// One power of two suffices: 2^n * 2^64, which is never too small.
Expr expand_exp_below_zero(const Formula& f, const Expr& x) {
  constexpr int64_t kShift = 64;
  const Expr z = f.let("z", f.at_least(x, -104.5));
  const Expr shifter = f.number(kShifter + kBias + kShift);
  const Expr shifted = f.let("t", f.add_product(shifter, z, f.number(1 / std::numbers::ln2)));
  const Expr n = f.let("n", shifted - shifter);
  const Expr r =
      f.let("r", f.add_product(f.add_product(z, n, f.number(-kLn2High)), n, f.number(-kLn2Low)));
  const Expr slope = horner(f, short_exponential_coefficients(), r);
  const Expr scale = f.let("s", f.power_of_two(unary(UnaryOp::Bits, shifted)));
  const Expr scaled = f.let("e", f.add_product(scale, r * scale, slope));
  return scaled * f.zero_where(f.is_below(scaled, std::ldexp(kNothing, kShift)),
                               f.number(std::ldexp(1, -kShift)));
}

/// In steps of the square root of 2, so that r is half as large and the polynomial a term shorter.
/// The bits of twice the exponent, shifted into a float whose lower bits are there already, make
/// two floats in turns that are a half apart; the scale begins with the only bits for which they
/// are also a factor of that root apart: 1.207 and 1.707.
Expr scaled_exp(const Formula& f, const Expr& z, double scale) {
  constexpr int64_t kBelowExponent = 22;
  constexpr double kStep = std::numbers::ln2 / 2, kStepHigh = 0x1.62e43p-2;
  const auto first = std::bit_cast<uint32_t>(static_cast<float>(scale));
  const Expr shifter = f.number(kShifter + (first >> kBelowExponent));
  const Expr shifted = f.let("t", f.add_product(shifter, z, f.number(1 / kStep)));
  const Expr n = f.let("n", shifted - shifter);
  const Expr r = f.let("r", f.add_product(f.add_product(z, n, f.number(-kStepHigh)), n,
                                          f.number(kStepHigh - kStep)));
  const Expr slope = horner(f, half_step_coefficients(), r);
  const Expr bits = unary(UnaryOp::Bits, shifted) * f.integer(1 << kBelowExponent) +
                    f.integer(first % (1 << kBelowExponent));
  const Expr power = f.let("s", unary(UnaryOp::FromBits, bits));
  return f.add_product(power, r * power, slope);
}

Expr expand_sigmoid(const Formula& f, const Expr& x) {
  const Expr z = f.let("z", f.at_most(f.at_least(x, -104.5), 20));
  const Gate g = gate(f, exponential(f, z, true));
  // A divisor this large belongs to z below -104.3: nothing comes of it.
  const Expr one = f.zero_where(f.is_above(g.divisor, 0x1.6bp75), g.scaled_one);
  return binary(BinaryOp::Div, one, g.divisor);
}

Expr expand_silu(const Formula& f, const Expr& x) {
  const Expr low = f.let("low", f.at_least(x, -120));
  const Expr z = f.let("z", f.at_most(low, 20));
  const Gate g = gate(f, exponential(f, z, true));
  // That of z below -108.8, which the argument makes up to 120 times as large.
  const Expr one = f.zero_where(f.is_above(g.divisor, 0x1p79), g.scaled_one);
  return binary(BinaryOp::Div, low, g.divisor) * one;
}

/// With z = sqrt(2/pi) * (x + 0.044715 * x^3) this is x / (1 + exp(-2 z)). Below zero an error of z
/// is an error of the result, magnified by z: z is computed to twice the precision.
Expr expand_gelu_tanh(const Formula& f, const Expr& x) {
  constexpr double kLinear = 1.5957691216057308, kCubic = kLinear * 0.044715;
  constexpr double kLinearHigh = 0x1.988p+0; // few bits: sums with it lose none of the other side
  constexpr double kCubicHigh = 0x1.2444f2p-4;
  const Expr low = f.let("low", f.at_least(x, -11));
  const Expr y = f.let("y", f.at_most(low, 6));
  const Expr yy = f.let("yy", y * y);
  const Expr yy_excess = f.sub_product(yy, y, y);
  const Expr cubic = f.number(kCubicHigh), linear = f.number(kLinearHigh);
  const Expr slope = f.let("slope", f.add_product(linear, cubic, yy));
  const Expr slope_lack =
      f.add_product(f.add_product(linear - slope, cubic, yy), f.number(kCubic - kCubicHigh), yy);
  const Expr constants = f.sub_product(f.number(kLinear - kLinearHigh), cubic, yy_excess);
  const Expr z = f.let("z", y * slope);
  const Expr z_excess = f.sub_product(f.sub_product(z, y, slope), y, slope_lack + constants);
  const Gate g = gate(f, exponential(f, z, true, z_excess));
  // That of 2 z below -107.4, which the argument makes up to 11 times as large.
  const Expr one = f.zero_where(f.is_above(g.divisor, 0x1p78), g.scaled_one);
  return binary(BinaryOp::Div, low, g.divisor) * one;
}

} // namespace kawara::scalar
