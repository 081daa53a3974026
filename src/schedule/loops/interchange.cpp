#include "schedule/loops/interchange.h"

#include "schedule/legality/request.h"
#include "schedule/loops/reorder.h"
#include "schedule/tree/resolve.h"

namespace kawara::schedule {

Proposed propose(const Schedule& schedule, const Interchange& interchange, const Environment&) {
  const std::string request = request_of(interchange);
  KAWARA_TRY(const poly::LoopId a, resolve_loop(schedule, interchange.a, request));
  KAWARA_TRY(const poly::LoopId b, resolve_loop(schedule, interchange.b, request));
  const bool a_is_outer = *poly::depth_of(schedule.order, a) <= *poly::depth_of(schedule.order, b);
  return reordered(schedule, a_is_outer ? std::vector{b, a} : std::vector{a, b}, interchange,
                   request);
}

} // namespace kawara::schedule
