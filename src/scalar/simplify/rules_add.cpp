#include "scalar/simplify/rule.h"

namespace kawara::scalar {

const Rules& add_rules() {
  static const Rules rules = [] {
    const P x = any(0), y = any(1);
    return Rules{
        rule(x + 0, x),
        rule(P(0) + x, x),
        rule(x - 0, x),
        rule(x - x, 0),
        rule(P(0) - x, node(UnaryOp::Neg, x)),
        rule((x + y) - y, x),
        rule((x + y) - x, y),
        rule((x - y) + y, x),
        rule(node(UnaryOp::Neg, node(UnaryOp::Neg, x)), x),
    };
  }();
  return rules;
}

} // namespace kawara::scalar
