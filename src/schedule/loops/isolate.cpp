#include "schedule/loops/isolate.h"

#include "schedule/codes.h"
#include "schedule/legality/request.h"
#include "schedule/tree/resolve.h"

namespace kawara::schedule {

Proposed propose(const Schedule& schedule, const Isolate& isolate, const Environment&) {
  const std::string request = request_of(isolate);
  KAWARA_TRY(const poly::LoopId loop, resolve_loop(schedule, isolate.loop, request));
  const poly::OrderLoop& l = schedule.order[loop];
  if (l.tile_size == 0) {
    Refusal::Shape refusal = shape_refusal(kNotPointLoop, request + ": it is no point loop",
                                           l.where, "does not run over the points of a tile",
                                           {"Only the inner loop of a split or tile has full and "
                                            "partial tiles."});
    LoopName points = isolate.loop;
    points.loop += ".1";
    refusal.ways_out.push_back({Split{isolate.loop, 32}, Isolate{points}});
    return fail(std::move(refusal));
  }
  poly::Order order = schedule.order;
  order[loop].marks.is_isolated = true;
  return with_order(schedule, std::move(order));
}

} // namespace kawara::schedule
