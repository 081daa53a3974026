#include "scalar/simplify/rule.h"

namespace kawara::scalar {

const Rules& mul_rules() {
  static const Rules rules = [] {
    const P x = any(0), c = constant(0), d = constant(1);
    return Rules{
        rule(x * 0, 0),
        rule(P(0) * x, 0),
        rule(x * 1, x),
        rule(P(1) * x, x),
        rule((x * c) * d, x * (c * d)),
        rule((c * x) * d, x * (c * d)),
        rule(d * (x * c), x * (c * d)),
        rule(d * (c * x), x * (c * d)),
    };
  }();
  return rules;
}

} // namespace kawara::scalar
