#include "scalar/simplify/rule.h"

namespace kawara::scalar {

const Rules& logic_rules() {
  static const Rules rules = [] {
    const P x = any(0), y = any(1);
    return Rules{
        rule(x && x, x), rule(x || x, x),    rule(x && 1, x), rule(P(1) && x, x),
        rule(x && 0, 0), rule(P(0) && x, 0), rule(x || 0, x), rule(P(0) || x, x),
        rule(x || 1, 1), rule(P(1) || x, 1), rule(!!x, x),    rule(choose(x, y, y), y),
    };
  }();
  return rules;
}

} // namespace kawara::scalar
