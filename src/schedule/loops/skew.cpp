#include "schedule/loops/skew.h"

#include "schedule/codes.h"
#include "schedule/legality/request.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using scalar::Expr;

Proposed propose(const Schedule& schedule, const Skew& skew, const Environment&) {
  const std::string request = request_of(skew);
  KAWARA_TRY(const LoopId loop, resolve_loop(schedule, skew.loop, request));
  KAWARA_TRY(const LoopId by, resolve_loop(schedule, skew.by, request));
  if (skew.factor == 0)
    return fail(shape_refusal(kBadSize, request + ": the factor must not be 0",
                              schedule.order[loop].where, "",
                              {"A factor of 0 leaves the loop as it is."}));
  for (const LoopId id : {loop, by})
    if (auto refused = refuse_if_bound(schedule.order, id, request))
      return fail(*std::move(refused));
  // With `by` outside, every statement below `loop` has a value of `by`, whatever stands between.
  if (!is_inside(schedule.order, loop, by)) {
    KAWARA_TRY([[maybe_unused]] const auto nest, perfect_nest(schedule, {loop, by}, skew, request));
  }
  Order order = schedule.order;
  const size_t at = *poly::depth_of(order, loop), by_at = *poly::depth_of(order, by);
  for (const poly::StmtId statement : poly::statements_below(order, loop)) {
    std::vector<Expr>& rows = order.rows[statement.value];
    rows[at] = scalar::simplify(rows[at] + rows[by_at] * scalar::int_lit(skew.factor));
  }
  order[loop].tile_size = 0;
  order[loop].marks.is_isolated = false;
  return with_order(schedule, std::move(order));
}

} // namespace kawara::schedule
