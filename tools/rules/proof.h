#pragma once

#include "graph/rewrite/rule.h"

#include <string>

namespace kawara::rules {

/// What was tried of a rule, and what came of it.
///
/// Extents (at least 1), starts, paddings and numbers are symbols: a proof holds for all of them.
/// Tried one by one are ranks (of element-wise rules 0 to 3 with one operand, 0 to 2 with two, 0
/// and 1 with more; of moves and reductions 1 to 3, of Expand 0 to 2, of products 2 and 3, of
/// convolutions 4), orders of dimensions and axes (all there are for the rank), steps, strides and
/// dilations (1 and 2, the same in all dimensions), groups (1 and 2). Dimensions of extent 1 are
/// cases of their own where they are broadcast.
struct Verdict {
  bool is_proved = false;
  int instances = 0;   ///< that exist and were proved
  int cases = 0;       ///< tried, with those where shapes do not fit
  std::string failure; ///< the first instance that was not proved: "x: [2, 3]"-like text
};

/// Proves that both sides of a rule are equal wherever its conditions hold and both sides have the
/// same shape. An `exact` rule is proved with floating-point sums and products as functions of
/// which only commutativity is known and sums in their order; others over the reals, where division
/// by zero is some number.
/// A rule for which no instance exists is not proved.
Verdict prove(const rewrite::Rule&, unsigned timeout_ms = 1000, int most_cases = 40'000);

} // namespace kawara::rules
