#pragma once

#include "schedule/reductions/rescaling_rule.h"
#include "schedule/schedule.h"

#include <map>
#include <string>
#include <vector>

namespace kawara::schedule {

/// A sum below one of the loops whose summand was computed with running values.
struct Accumulator {
  uint32_t tensor = 0;
  poly::StmtId update; ///< one of its updates
  size_t loop = 0;     ///< into Chain::loops
  Law law;             ///< Iter k: index k of the tensor
};

/// A reduction and the loops that wait for its result, when the law of every value in between is
/// known.
struct Chain {
  std::vector<poly::LoopId> loops;
  size_t depth = 0;                    ///< of the loops; as many loops are around all of them
  std::optional<poly::StmtId> extreme; ///< the update of the maximum that exponentials refer to
  size_t extreme_loop = 0;
  std::vector<Accumulator> accumulators;
  std::vector<uint32_t>
      local; ///< temps with values for a running maximum: used within an iteration
  std::map<poly::StmtId, scalar::Expr> values; ///< statements with factors taken out
};

struct NoChain {
  std::string_view code;
  std::string why;
};

/// What `loops` (siblings, in tree order) need of each other's final results, and the proof that
/// they can do with running ones:
///   - every summand obeys a law (rescaling_rule.h);
///   - a temp computed from running values is read in the same iteration of the loops only;
///   - a sum to be corrected starts from zero, and nothing else reads or writes it meanwhile;
///   - each exponent is `rate * (e - m)` for an e that the running maximum m has seen, so that no
///     exponential overflows that did not in the source.
/// Needs `order` to be legal: it is what "before" and "final" are read from.
Result<Chain, NoChain> find_chain(const Schedule&, std::vector<poly::LoopId> loops);

} // namespace kawara::schedule
