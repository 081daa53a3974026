#include "scalar/expand/formula.h"

#include <array>

namespace kawara::scalar {
namespace {

/// 1 / (2 pi) in parts: of 29 bits, so that the product of one with an f32 is exact in f64, and
/// what is left.
constexpr std::array<double, 5> kTurns{0x1.45f306dp-3, 0x1.9391054p-32, 0x1.4fe13abp-61,
                                       0x1.d1f534dp-90, 0x1.b81b6c5p-119};
constexpr double kRestOfTurns = 0x1.5993c439041fcp-150;

/// sin(r) = r + r^3 S(r^2) and cos(r) = 1 - r^2/2 + r^4 C(r^2) on |r| <= pi/4, largest error 2^-26.
const std::vector<double>& sine_coefficients() {
  static const std::vector<double> c{-0x1.555546p-3, 0x1.110778p-7, -0x1.995406p-13};
  return c;
}
const std::vector<double>& cosine_coefficients() {
  static const std::vector<double> c{0x1.55554ap-5, -0x1.6c0c2ap-10, 0x1.99e914p-16};
  return c;
}

/// x = 2 pi m + (n + rest) pi/2, where n and m are integers and |rest| <= 1/2.
struct Quadrant {
  Expr number; ///< n as an integer; only the two lowest bits count
  Expr rest;   ///< rest * pi/2, rounded to f32 once
};

/// A product of an f32 and a part is a whole number of turns, or its last bits are beyond those of
/// a float near 1: what is left of it without the whole turns is exact, as are the sums. So the
/// rest of the largest float is as good as that of 1.
Quadrant quadrant_of(const Formula& f, const Expr& x) {
  const Formula wide = f.in_f64();
  const Expr t = wide.let("t", wide.widened(x));
  Expr turns;
  for (const double part : kTurns) {
    const Expr v = wide.let("v", t * wide.number(part));
    const Expr left = v - unary(UnaryOp::Round, v);
    turns = turns ? turns + left : left;
  }
  const Expr q =
      wide.let("q", wide.number(4) * wide.add_product(turns, t, wide.number(kRestOfTurns)));
  const Expr n = wide.let("n", unary(UnaryOp::Round, q));
  constexpr double kQuarter = 1.5707963267948966;
  // n is small: in a sum with this number it stands in the lowest bits.
  constexpr double kToLowestBits = 0x1.8p23;
  return {f.let("i", unary(UnaryOp::Bits, f.narrowed(n) + f.number(kToLowestBits))),
          f.let("r", f.narrowed((q - n) * wide.number(kQuarter)))};
}

/// sin(r + number * pi/2), its sign turned where the highest bit of `sign` is set.
Expr sine_of(const Formula& f, const Expr& number, const Expr& r, const Expr& sign) {
  // Powers of less than this are nothing beside r, or beside 1.
  constexpr double kWithoutPowers = 0x1p-30;
  const Expr s = f.let("s", f.zero_where(f.is_below(unary(UnaryOp::Abs, r), kWithoutPowers), r));
  const Expr rr = f.let("rr", s * s);
  const Expr rrrr = f.let("rrrr", rr * rr);
  const Expr sine = f.add_product(r, s * rr, f.polynomial(sine_coefficients(), rr, rrrr));
  const Expr cosine = f.add_product(f.add_product(f.number(1), f.number(-0.5), rr), rrrr,
                                    f.polynomial(cosine_coefficients(), rr, rrrr));
  const Expr is_even =
      binary(BinaryOp::Eq, binary(BinaryOp::BitAnd, number, f.integer(1)), f.integer(0));
  // Bit 1 of the quadrant's number becomes the highest.
  constexpr int64_t kHighest = -(int64_t{1} << 31);
  const Expr turned =
      binary(BinaryOp::BitAnd, binary(BinaryOp::BitXor, number * f.integer(1 << 30), sign),
             f.integer(kHighest));
  return unary(
      UnaryOp::FromBits,
      binary(BinaryOp::BitXor, unary(UnaryOp::Bits, select(is_even, sine, cosine)), turned));
}

} // namespace

/// Of |x|, so that a zero keeps its sign.
Expr expand_sin(const Formula& f, const Expr& x) {
  const Quadrant at = quadrant_of(f, unary(UnaryOp::Abs, x));
  return sine_of(f, at.number, at.rest, unary(UnaryOp::Bits, x));
}

Expr expand_cos(const Formula& f, const Expr& x) {
  const Quadrant at = quadrant_of(f, unary(UnaryOp::Abs, x));
  return sine_of(f, f.let("j", at.number + f.integer(1)), at.rest, f.integer(0));
}

} // namespace kawara::scalar
