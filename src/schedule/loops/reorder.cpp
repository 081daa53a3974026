#include "schedule/loops/reorder.h"

#include "schedule/codes.h"
#include "schedule/legality/request.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;

Proposed reordered(const Schedule& schedule, const std::vector<LoopId>& loops,
                   const Directive& directive, const std::string& request) {
  KAWARA_TRY(const std::vector<LoopId> nest, perfect_nest(schedule, loops, directive, request));
  std::vector<LoopId> permuted;
  size_t next = 0;
  for (const LoopId loop : nest) {
    // The parts of a coalesced loop follow their head.
    if (schedule.order[loop].is_coalesced_into_parent)
      continue;
    const bool is_listed = std::find(loops.begin(), loops.end(), loop) != loops.end();
    const LoopId head = is_listed ? loops[next++] : loop;
    for (const LoopId part : unit_of(schedule.order, head))
      permuted.push_back(part);
  }
  return with_order(schedule, with_nest_permuted(schedule.order, nest, permuted));
}

Proposed propose(const Schedule& schedule, const Reorder& reorder, const Environment&) {
  const std::string request = request_of(reorder);
  if (reorder.loops.empty())
    return fail(shape_refusal(kBadSize, "cannot reorder without a loop"));
  std::vector<LoopId> loops;
  for (const LoopName& name : reorder.loops) {
    KAWARA_TRY(const LoopId loop, resolve_loop(schedule, name, request));
    loops.push_back(loop);
  }
  return reordered(schedule, loops, reorder, request);
}

} // namespace kawara::schedule
