#include "schedule/loops/reverse.h"

#include "schedule/legality/request.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using scalar::Expr;

Proposed propose(const Schedule& schedule, const Reverse& reverse, const Environment&) {
  const std::string request = request_of(reverse);
  KAWARA_TRY(const LoopId loop, resolve_loop(schedule, reverse.loop, request));
  Order order = schedule.order;
  const std::vector<LoopId> unit = unit_of(order, loop);
  if (unit.size() == 1)
    if (auto refused = refuse_if_bound(order, loop, request))
      return fail(*std::move(refused));
  const size_t at = *poly::depth_of(order, loop);
  for (const poly::StmtId statement : poly::statements_below(order, loop))
    for (size_t part = 0; part < unit.size(); ++part) {
      Expr& row = order.rows[statement.value][at + part];
      row = scalar::simplify(scalar::unary(scalar::UnaryOp::Neg, row));
    }
  for (const LoopId part : unit) {
    order[part].tile_size = 0;
    order[part].marks.is_isolated = false;
  }
  return with_order(schedule, std::move(order));
}

} // namespace kawara::schedule
