#pragma once

#include "schedule/schedule.h"

#include <optional>
#include <vector>

namespace kawara::schedule {

/// A perfect nest: loops outermost first, every one alone in the body of the one before, statements
/// only in the innermost body.
struct Nest {
  std::vector<poly::LoopId> loops;
  std::vector<poly::StmtId> statements;
  size_t depth = 0; ///< of the first loop
};

/// The nest that starts at `loop`, when it is perfect down to its statements.
std::optional<Nest> perfect_nest_at(const poly::Order&, poly::LoopId loop);

} // namespace kawara::schedule
