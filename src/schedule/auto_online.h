#pragma once

#include "schedule/schedule.h"

#include <optional>
#include <set>

namespace kawara::schedule {

/// A schedule in which a chain of reductions runs in one pass, and the outermost loops that need no more.
struct OnePass {
  Schedule schedule;
  std::set<poly::LoopId> done;
};

/// Runs the first chain that would else store a large temp (attention stores one cell for each pair of
/// positions) block by block in one pass: the blocks of its temps stay in cache, products get register
/// tiles, rows run on threads. Nothing when there is no such chain or some step is refused.
std::optional<OnePass> one_pass(const Schedule&, const Environment&);

} // namespace kawara::schedule
