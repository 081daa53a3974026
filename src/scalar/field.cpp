#include "scalar/field.h"

#include "support/check.h"
#include "support/hash.h"

#include <bit>
#include <cmath>
#include <limits>
#include <tuple>

namespace kawara::scalar {
namespace {

constexpr uint64_t kQ = 1073741789, kP = 2 * kQ + 1; // both prime
constexpr uint64_t kRoot = 4;                        // a square, hence of order q modulo p

// An element is stored above all integers that a kernel computes with: x in 31 bits, y above it
// in 30.
constexpr int64_t kFirst = int64_t{1} << 62, kEnd = kFirst + (int64_t{1} << 61);
constexpr int64_t kLowest = kEnd, kHighest = kEnd + 1, kNan = kEnd + 2;

struct Pair {
  uint64_t x = 0, y = 0;
};

bool is_element(Value v) { return v.i >= kFirst && v.i <= kNan; }
bool is_finite(Value v) { return v.i < kEnd; }
bool is_nan(Value v) { return v.i == kNan; }
bool is_infinite(Value v) { return v.i == kLowest || v.i == kHighest; }

Value element(Pair e) { return int_value(kFirst + static_cast<int64_t>(e.x | e.y << 31)); }
Pair pair_of(Value v) {
  const auto bits = static_cast<uint64_t>(v.i - kFirst);
  return {bits & 0x7fffffffU, bits >> 31};
}

uint64_t power_mod(uint64_t base, uint64_t exponent, uint64_t modulus) {
  uint64_t result = 1;
  for (base %= modulus; exponent > 0; exponent >>= 1, base = base * base % modulus)
    if ((exponent & 1U) != 0)
      result = result * base % modulus;
  return result;
}

uint64_t remainder(int64_t n, uint64_t modulus) {
  const auto m = static_cast<int64_t>(modulus);
  return static_cast<uint64_t>((n % m + m) % m);
}

Value whole(int64_t n) { return element({remainder(n, kP), remainder(n, kQ)}); }

/// The whole number of small size that an element is.
std::optional<int64_t> small_whole(Value v) {
  constexpr int64_t kSmall = int64_t{1} << 20;
  if (!is_finite(v))
    return std::nullopt;
  const auto x = static_cast<int64_t>(pair_of(v).x);
  const int64_t n = x < kSmall ? x : x - static_cast<int64_t>(kP);
  return n > -kSmall && remainder(n, kQ) == pair_of(v).y ? std::optional(n) : std::nullopt;
}

Value negative(Value a) {
  if (is_nan(a))
    return a;
  if (is_infinite(a))
    return int_value(a.i == kLowest ? kHighest : kLowest);
  const Pair e = pair_of(a);
  return element({e.x == 0 ? 0 : kP - e.x, e.y == 0 ? 0 : kQ - e.y});
}

Value sum(Value a, Value b) {
  if (is_finite(a) && is_finite(b)) {
    const Pair e = pair_of(a), f = pair_of(b);
    return element({(e.x + f.x) % kP, (e.y + f.y) % kQ});
  }
  if (is_nan(a) || is_nan(b) || (is_infinite(a) && is_infinite(b) && a.i != b.i))
    return int_value(kNan);
  return is_infinite(a) ? a : b;
}

bool is_zero(Value a) { return a.i == kFirst; }

/// Elements have no sign: a product with an infinity keeps that one, unless the factor is -1.
Value product(Value a, Value b) {
  if (is_finite(a) && is_finite(b)) {
    const Pair e = pair_of(a), f = pair_of(b);
    return element({e.x * f.x % kP, e.y * f.y % kQ});
  }
  if (is_nan(a) || is_nan(b) || is_zero(a) || is_zero(b))
    return int_value(kNan);
  const Value other = is_infinite(a) ? b : a, infinity = is_infinite(a) ? a : b;
  const bool flips = other.i == whole(-1).i || other.i == kLowest;
  return flips ? negative(infinity) : infinity;
}

Value inverse(Value a) {
  if (is_nan(a))
    return a;
  if (is_infinite(a))
    return whole(0);
  const Pair e = pair_of(a);
  return element({power_mod(e.x, kP - 2, kP), power_mod(e.y, kQ - 2, kQ)});
}

/// A number of type `elem` as an element. The ends of its range are what a maximum or minimum
/// starts from.
Value lifted(Elem elem, Value v) {
  if (is_element(v))
    return v;
  const bool is_wide = elem == Elem::I64;
  if (v.i == (is_wide ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min()))
    return int_value(kLowest);
  if (v.i == (is_wide ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int32_t>::max()))
    return int_value(kHighest);
  return whole(v.i);
}

/// The quotient of two small whole numbers that a float is but for a few roundings, by its
/// continued fraction.
std::optional<std::pair<int64_t, int64_t>> ratio_of(double v) {
  const bool is_f32 = static_cast<double>(static_cast<float>(v)) == v;
  const double tolerance = is_f32 ? 0x1p-22 : 0x1p-48;
  const int64_t most = is_f32 ? 1 << 9 : 1 << 16;
  if (!(std::abs(v) < 0x1p20) || !(std::abs(v) > 0x1p-20))
    return std::nullopt;
  int64_t a = 1, b = 0, a_before = 0, b_before = 1;
  for (double rest = v;;) {
    const double digit = std::floor(rest);
    const auto n = static_cast<int64_t>(digit);
    std::tie(a, a_before) = std::pair(n * a + a_before, a);
    std::tie(b, b_before) = std::pair(n * b + b_before, b);
    if (b > most)
      return std::nullopt;
    if (std::abs(static_cast<double>(a) / static_cast<double>(b) - v) <= tolerance * std::abs(v))
      return std::pair(a, b);
    rest = 1 / (rest - digit);
    if (!(rest < 0x1p20))
      return std::nullopt;
  }
}

constexpr uint64_t kToInteger = 1000, kBinary = 2000,
                   kOrder = 3000; // of tables; unary ones by operator

} // namespace

Field::Field(uint64_t seed)
    : seed_(seed), low_{literal(std::numeric_limits<float>::lowest()),
                        literal(std::numeric_limits<double>::lowest())},
      high_{literal(std::numeric_limits<float>::max()),
            literal(std::numeric_limits<double>::max())} {}

Value Field::literal(double v) const {
  const auto [at, is_new] = literals_.try_emplace(std::bit_cast<uint64_t>(v));
  if (is_new)
    at->second = element_of(v);
  return at->second;
}

Value Field::element_of(double v) {
  if (std::isnan(v))
    return int_value(kNan);
  if (std::isinf(v))
    return int_value(v < 0 ? kLowest : kHighest);
  if (const auto ratio = ratio_of(v))
    return product(whole(ratio->first), inverse(whole(ratio->second)));
  int exponent = 0;
  const auto digits = static_cast<int64_t>(std::ldexp(std::frexp(v, &exponent), 53));
  exponent -= 53;
  const auto scale = static_cast<uint64_t>(std::abs(exponent));
  const Value power = element({power_mod(2, scale, kP), power_mod(2, scale, kQ)});
  return product(whole(digits), exponent < 0 ? inverse(power) : power);
}

Value Field::table(uint64_t which, Value a, Value b) const {
  uint64_t hash = hash_mix(seed_, which);
  hash = hash_mix(hash, static_cast<uint64_t>(a.i));
  hash = hash_mix(hash, static_cast<uint64_t>(b.i));
  return element({hash % kP, hash_mix(hash, 1) % kQ});
}

uint64_t Field::rank(Value v) const {
  if (v.i == kLowest)
    return 0;
  if (v.i == kHighest)
    return std::numeric_limits<uint64_t>::max();
  for (size_t type = 0; type < low_.size(); ++type) {
    if (v.i == low_[type].i)
      return 1 + 2 * (1 - type);
    if (v.i == high_[type].i)
      return std::numeric_limits<uint64_t>::max() - 1 - 2 * (1 - type);
  }
  constexpr uint64_t kMiddle = uint64_t{1} << 63;
  if (const auto n = small_whole(v))
    return kMiddle +
           (static_cast<uint64_t>(*n) << 40); // two's complement: below it for negative ones
  return hash_mix(hash_mix(seed_, kOrder), static_cast<uint64_t>(v.i)) | 1U;
}

bool Field::is_less(Value a, Value b) const {
  return !is_nan(a) && !is_nan(b) && rank(a) < rank(b);
}

Value Field::exponential(Value a) const {
  if (is_nan(a) || a.i == kHighest)
    return a;
  return a.i == kLowest ? whole(0) : element({power_mod(kRoot, pair_of(a).y, kP), 1});
}

Value Field::power(Value a, Value b) const {
  constexpr int64_t kMost = 16;
  if (b.i == literal(0.5).i)
    return function(UnaryOp::Sqrt, a);
  const auto n = small_whole(b);
  if (!n || std::abs(*n) > kMost || !is_finite(a))
    return table(kBinary + static_cast<uint64_t>(BinaryOp::Pow), a, b);
  Value result = whole(1);
  for (int64_t k = 0; k < std::abs(*n); ++k)
    result = product(result, a);
  return *n < 0 ? inverse(result) : result;
}

/// A function that leaves whole numbers alone.
Value Field::rounded(uint64_t which, Value a) const {
  return small_whole(a) || !is_finite(a) ? a : table(which, a, a);
}

Value Field::function(UnaryOp op, Value a) const {
  const auto which = static_cast<uint64_t>(op);
  switch (op) {
  case UnaryOp::Neg:
    return negative(a);
  case UnaryOp::Exp:
    return exponential(a);
  case UnaryOp::Abs: {
    const auto n = small_whole(a);
    return n              ? whole(std::abs(*n))
           : is_finite(a) ? table(which, int_value(std::min(a.i, negative(a).i)), whole(0))
           : is_nan(a)    ? a
                          : int_value(kHighest);
  }
  case UnaryOp::Rsqrt:
    return inverse(function(UnaryOp::Sqrt, a));
  case UnaryOp::Sigmoid:
    return inverse(sum(whole(1), exponential(negative(a))));
  case UnaryOp::Silu:
    return product(a, function(UnaryOp::Sigmoid, a));
  case UnaryOp::Floor:
  case UnaryOp::Ceil:
  case UnaryOp::Round:
    return rounded(which, a);
  default:
    return table(which, a, whole(0));
  }
}

Value Field::apply(UnaryOp op, Elem elem, Value a) const {
  if (!is_element(a) && !is_float(elem))
    return scalar::apply(op, elem, a);
  if (op == UnaryOp::Not)
    return int_value(is_zero(a) ? 1 : 0);
  return function(op, a);
}

std::optional<Value> Field::apply(BinaryOp op, Elem elem, Value a, Value b) const {
  if (!is_element(a) && !is_element(b) && !is_float(elem))
    return scalar::apply(op, elem, a, b);
  return on_elements(op, lifted(elem, a), lifted(elem, b));
}

std::optional<Value> Field::on_elements(BinaryOp op, Value a, Value b) const {
  switch (op) {
  case BinaryOp::Add:
    return sum(a, b);
  case BinaryOp::Sub:
    return sum(a, negative(b));
  case BinaryOp::Mul:
    return product(a, b);
  case BinaryOp::Div:
    return product(a, inverse(b));
  case BinaryOp::FloorDiv:
    return is_zero(b) ? std::nullopt
                      : std::optional(table(kBinary + static_cast<uint64_t>(op), a, b));
  case BinaryOp::Mod: // what the quotient leaves
    return is_zero(b) ? std::nullopt
                      : std::optional(
                            sum(a, negative(product(b, *on_elements(BinaryOp::FloorDiv, a, b)))));
  case BinaryOp::Min:
    return is_nan(b) || is_less(a, b) ? a : b;
  case BinaryOp::Max:
    return is_nan(b) || is_less(b, a) ? a : b;
  case BinaryOp::NanMin:
    return is_nan(a) || is_less(a, b) ? a : b;
  case BinaryOp::NanMax:
    return is_nan(a) || (!is_nan(b) && is_less(b, a)) ? a : b;
  case BinaryOp::Pow:
    return power(a, b);
  case BinaryOp::CopySign:
  case BinaryOp::Atan2:
  case BinaryOp::BitAnd:
  case BinaryOp::BitOr:
  case BinaryOp::BitXor:
  case BinaryOp::Shl:
  case BinaryOp::Shr:
    return table(kBinary + static_cast<uint64_t>(op), a, b);
  case BinaryOp::Lt:
    return int_value(is_less(a, b));
  case BinaryOp::Gt:
    return int_value(is_less(b, a));
  case BinaryOp::Le:
    return int_value(!is_nan(a) && !is_nan(b) && !is_less(b, a));
  case BinaryOp::Ge:
    return int_value(!is_nan(a) && !is_nan(b) && !is_less(a, b));
  case BinaryOp::Eq:
    return int_value(!is_nan(a) && a.i == b.i);
  case BinaryOp::Ne:
    return int_value(is_nan(a) || a.i != b.i);
  case BinaryOp::And:
    return int_value(!is_zero(a) && !is_zero(b));
  case BinaryOp::Or:
    return int_value(!is_zero(a) || !is_zero(b));
  }
  KAWARA_CHECK(false, std::string(name_of(op)));
}

Value Field::apply_fma(Elem elem, Value a, Value b, Value c) const {
  return sum(product(lifted(elem, a), lifted(elem, b)), lifted(elem, c));
}

Value Field::convert(Elem from, Elem to, Value v) const {
  if (!is_element(v))
    return is_float(to) ? lifted(from, v) : scalar::convert(from, to, v);
  if (to == Elem::Bool)
    return int_value(is_zero(v) ? 0 : 1);
  return is_float(from) && !is_float(to) ? rounded(kToInteger, v) : v;
}

Value Field::random(Elem elem, uint64_t key) const {
  const uint64_t hash = hash_mix(hash_mix(seed_, key), 0);
  if (elem == Elem::Bool)
    return int_value(static_cast<int64_t>(hash >> 63));
  return element({hash % kP, hash_mix(hash, 1) % kQ});
}

bool Field::is_same(Elem elem, Value a, Value b) const {
  return a.i == b.i || lifted(elem, a).i == lifted(elem, b).i;
}

} // namespace kawara::scalar
