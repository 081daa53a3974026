#include "scalar/simplify/rule.h"

namespace kawara::scalar {

const Rules& min_max_rules() {
  static const Rules rules = [] {
    const P x = any(0), y = any(1), c = constant(0), d = constant(1);
    return Rules{
        rule(min(x, x), x),
        rule(max(x, x), x),
        rule(min(min(x, y), x), min(x, y)),
        rule(min(min(x, y), y), min(x, y)),
        rule(min(x, min(x, y)), min(x, y)),
        rule(min(y, min(x, y)), min(x, y)),
        rule(max(max(x, y), x), max(x, y)),
        rule(max(max(x, y), y), max(x, y)),
        rule(max(x, max(x, y)), max(x, y)),
        rule(max(y, max(x, y)), max(x, y)),
        rule(min(max(x, y), x), x),
        rule(min(max(x, y), y), y),
        rule(min(x, max(x, y)), x),
        rule(min(y, max(x, y)), y),
        rule(max(min(x, y), x), x),
        rule(max(min(x, y), y), y),
        rule(max(x, min(x, y)), x),
        rule(max(y, min(x, y)), y),
        rule(min(min(x, c), d), min(x, min(c, d))),
        rule(max(max(x, c), d), max(x, max(c, d))),
    };
  }();
  return rules;
}

} // namespace kawara::scalar
