#include "schedule/loops/shift.h"

#include "schedule/legality/request.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using poly::StmtId;
using scalar::Expr;

Proposed propose(const Schedule& schedule, const Shift& shift, const Environment&) {
  const std::string request = request_of(shift);
  KAWARA_TRY(const LoopId loop, resolve_loop(schedule, shift.loop, request));
  if (auto refused = refuse_if_bound(schedule.order, loop, request))
    return fail(*std::move(refused));
  std::vector<StmtId> moved = poly::statements_below(schedule.order, loop);
  if (shift.loop.statement) {
    KAWARA_TRY(const StmtId only, resolve_statement(schedule, *shift.loop.statement, request));
    moved = {only};
  }
  Order order = schedule.order;
  const size_t at = *poly::depth_of(order, loop);
  for (const StmtId statement : moved) {
    Expr& row = order.rows[statement.value][at];
    row = scalar::simplify(row + scalar::int_lit(shift.amount));
  }
  order[loop].tile_size = 0;
  order[loop].marks.is_isolated = false;
  return with_order(schedule, std::move(order));
}

} // namespace kawara::schedule
