#include "scalar/simplify/rule.h"

namespace kawara::scalar {

/// Comparisons whose sides differ by a known amount are decided by `compare_sums`, not here.
const Rules& compare_rules() {
  static const Rules rules = [] {
    const P x = any(0), y = any(1);
    return Rules{
        rule(x == x, 1),        rule(x != x, 0),         rule(x <= x, 1),
        rule(x < x, 0),         rule(x >= x, 1),         rule(x > x, 0),
        rule(!(x < y), x >= y), rule(!(x <= y), x > y),  rule(!(x > y), x <= y),
        rule(!(x >= y), x < y), rule(!(x == y), x != y), rule(!(x != y), x == y),
    };
  }();
  return rules;
}

} // namespace kawara::scalar
