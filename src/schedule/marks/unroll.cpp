#include "schedule/marks/unroll.h"

#include "schedule/codes.h"
#include "schedule/legality/request.h"
#include "schedule/tree/extent.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

namespace kawara::schedule {
namespace {

/// More copies than this help no machine and would only fill the instruction cache.
constexpr int64_t kMostCopies = 1024;

} // namespace

Proposed propose(const Schedule& schedule, const Unroll& unroll, const Environment&) {
  const std::string request = request_of(unroll);
  KAWARA_TRY(const poly::LoopId loop, resolve_loop(schedule, unroll.loop, request));
  poly::Order order = schedule.order;
  const poly::OrderLoop& l = order[loop];
  if (unroll.factor && (*unroll.factor < 1 || *unroll.factor > kMostCopies))
    return fail(shape_refusal(
        kBadSize, request + ": the factor must be from 1 to " + std::to_string(kMostCopies),
        l.where, "", {"The factor was " + std::to_string(*unroll.factor) + "."}));
  if (l.marks.is_parallel || unit_of(order, loop).size() > 1)
    return fail(shape_refusal(kAlreadyMarked,
                              request + ": it is a " +
                                  (l.marks.is_parallel ? "parallel" : "coalesced") + " loop",
                              l.where, "", {"Split it, and unroll the inner part."}));
  if (l.marks.axis != poly::Axis::None)
    return fail(*refuse_if_bound(order, loop, request));
  if (!unroll.factor) {
    const auto run = longest_run(schedule.scop, order, loop);
    if (!run || *run > kMostCopies) {
      Refusal::Shape refusal = shape_refusal(
          kExtentNotConstant,
          request + " completely: " +
              (run ? "it has up to " + std::to_string(*run) + " iterations"
                   : std::string("its number of iterations depends on the sizes")),
          l.where, "unrolled completely at " + std::to_string(kMostCopies) + " iterations or less");
      refusal.ways_out.push_back({Unroll{unroll.loop, 4}});
      return fail(std::move(refusal));
    }
  }
  order[loop].marks.unroll = unroll.factor.value_or(poly::kFullUnroll);
  return with_order(schedule, std::move(order));
}

} // namespace kawara::schedule
