#include "schedule/marks/parallel.h"

#include "schedule/codes.h"
#include "schedule/legality/request.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

namespace kawara::schedule {

Proposed propose(const Schedule& schedule, const Parallel& parallel, const Environment&) {
  const std::string request = request_of(parallel);
  KAWARA_TRY(const poly::LoopId loop, resolve_loop(schedule, parallel.loop, request));
  poly::Order order = schedule.order;
  if (order[loop].marks.vector_width != 0)
    return fail(shape_refusal(kAlreadyMarked, request + ": it is a vector loop", order[loop].where,
                              "its iterations are the lanes of a vector",
                              {"Split it before it is vectorized, and run the outer part in "
                               "parallel."}));
  if (order[loop].marks.axis != poly::Axis::None)
    return fail(*refuse_if_bound(order, loop, request));
  // A coalesced loop runs all its parts at the same time.
  for (const poly::LoopId part : unit_of(order, loop))
    order[part].marks.is_parallel = true;
  return with_order(schedule, std::move(order));
}

} // namespace kawara::schedule
