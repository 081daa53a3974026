#include "schedule/loops/split.h"

#include "schedule/codes.h"
#include "schedule/legality/request.h"
#include "schedule/loops/coalesce.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using poly::OrderLoop;
using poly::TreeNode;
using scalar::BinaryOp;
using scalar::Expr;

SplitLoops split_in_place(Order& order, LoopId loop, int64_t size) {
  const OrderLoop old = order[loop];
  const size_t depth = *poly::depth_of(order, loop);
  const SplitLoops made{poly::add_loop(order, old.name + ".0", old.where),
                        poly::add_loop(order, old.name + ".1", old.where)};
  order[made.tiles].marks = old.marks;
  // The tiles of a point loop are points of the outer tile still: i.1 // 8 runs from 0 to 64/8 - 1.
  order[made.tiles].tile_size = (old.tile_size + size - 1) / size;
  order[made.points].tile_size = size;
  const Place place = place_of(order, loop);
  TreeNode& node = place.node();
  TreeNode points{made.points, std::move(node.body)};
  node.what = made.tiles;
  node.body.clear();
  node.body.push_back(std::move(points));
  const Expr by = scalar::int_lit(size);
  for (const poly::StmtId statement : poly::statements_below(node)) {
    std::vector<Expr>& rows = order.rows[statement.value];
    const Expr row = rows[depth];
    rows[depth] = scalar::simplify(scalar::binary(BinaryOp::FloorDiv, row, by));
    rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(depth) + 1,
                scalar::simplify(scalar::binary(BinaryOp::Mod, row, by)));
  }
  return made;
}

Proposed propose(const Schedule& schedule, const Split& split, const Environment&) {
  const std::string request = request_of(split);
  KAWARA_TRY(const LoopId loop, resolve_loop(schedule, split.loop, request));
  if (split.size < 1)
    return fail(shape_refusal(kBadSize, request + ": the size must be at least 1",
                              schedule.order[loop].where, "",
                              {"The size was " + std::to_string(split.size) + "."}));
  KAWARA_TRY(Order order, as_single_loop(schedule, loop, request));
  if (auto refused = refuse_if_bound(order, loop, request))
    return fail(*std::move(refused));
  split_in_place(order, loop, split.size);
  return with_order(schedule, std::move(order));
}

} // namespace kawara::schedule
