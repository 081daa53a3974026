#include "scalar/simplify/rule.h"

namespace kawara::scalar {
namespace {

constexpr When kProductFits = [](int64_t c, int64_t d) {
  int64_t product = 0;
  return c > 0 && d > 0 && !__builtin_mul_overflow(c, d, &product);
};
constexpr When kNotZero = [](int64_t c, int64_t) { return c != 0; };
constexpr When kDividesEvenly = [](int64_t c, int64_t d) { return c > 0 && d > 0 && c % d == 0; };

} // namespace

/// Sums over a divisor are taken apart by `divide_sum` and `reduce_sum`, not here.
const Rules& div_rules() {
  static const Rules rules = [] {
    const P x = any(0), c = constant(0), d = constant(1);
    return Rules{
        rule(x / 1, x),
        rule(P(0) / c, 0, kNotZero),
        rule((x / c) / d, x / (c * d), kProductFits),
        rule((x % c) / c, 0, kNotZero),
        rule(x % 1, 0),
        rule(P(0) % c, 0, kNotZero),
        rule((x % c) % d, x % d, kDividesEvenly),
    };
  }();
  return rules;
}

} // namespace kawara::scalar
