#include "schedule/loops/coalesce.h"

#include "schedule/codes.h"
#include "schedule/legality/request.h"
#include "schedule/tree/extent.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using poly::TreeNode;
using scalar::Expr;

namespace {

/// Takes the innermost loop of the unit of `loop` into its parent's row.
void merge_into_parent(Order& order, LoopId parent, ConstantRange inner) {
  const size_t depth = *poly::depth_of(order, parent);
  TreeNode& node = place_of(order, parent).node();
  for (const poly::StmtId statement : poly::statements_below(node)) {
    std::vector<Expr>& rows = order.rows[statement.value];
    const Expr extent = scalar::int_lit(inner.high - inner.low + 1);
    rows[depth] =
        scalar::simplify(rows[depth] * extent + (rows[depth + 1] - scalar::int_lit(inner.low)));
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(depth) + 1);
  }
  std::vector<TreeNode> body = std::move(node.body[0].body);
  node.body = std::move(body);
}

Refusal::Shape not_constant(const Schedule& schedule, LoopId loop, LoopId inner,
                            const std::string& request) {
  const auto& l = schedule.order[inner];
  return shape_refusal(
      kExtentNotConstant, request + ": its inner part `" + l.name + "` has no constant extent",
      l.where, "its extent depends on the sizes",
      {"Loop `" + schedule.order[loop].name +
       "` counts through two loops; its values are whole numbers times the extent of `" + l.name +
       "`, and that must be a number. Fix the sizes (-p), or ask before coalescing."});
}

} // namespace

Result<Order, Refusal::Shape> as_single_loop(const Schedule& schedule, LoopId loop,
                                             const std::string& request) {
  Order order = schedule.order;
  for (std::vector<LoopId> unit = unit_of(order, loop); unit.size() > 1; unit.pop_back()) {
    const auto range = constant_range(schedule.scop, order, unit.back());
    if (!range)
      return fail(not_constant(schedule, loop, unit.back(), request));
    merge_into_parent(order, unit[unit.size() - 2], *range);
  }
  return order;
}

Proposed propose(const Schedule& schedule, const Coalesce& coalesce, const Environment&) {
  const std::string request = request_of(coalesce);
  KAWARA_TRY(const LoopId outer, resolve_loop(schedule, coalesce.outer, request));
  KAWARA_TRY(const LoopId inner, resolve_loop(schedule, coalesce.inner, request));
  KAWARA_TRY(const std::vector<LoopId> nest,
             perfect_nest(schedule, {outer, inner}, coalesce, request));
  Order order = schedule.order;
  const std::vector<LoopId> outer_unit = unit_of(order, outer);
  if (parent_of(order, inner) != outer_unit.back())
    return fail(shape_refusal(kNotNested,
                              request + ": " + quoted(coalesce.inner) + " is not directly inside " +
                                  quoted(coalesce.outer),
                              order[inner].where, "this one",
                              {"Bring the two next to each other with `reorder` first."}));
  for (const LoopId loop : {outer, inner}) {
    const poly::Marks& marks = order[loop].marks;
    if (marks.vector_width != 0 || marks.unroll != 0)
      return fail(shape_refusal(
          kAlreadyMarked, request + ": `" + order[loop].name + "` is a vector or unrolled loop",
          order[loop].where, "", {"Coalesce first, then mark the result."}));
  }
  if (!is_rectangular_block(schedule.scop, order, unit_of(order, outer).front(), inner))
    return fail(shape_refusal(kNotRectangular,
                              request + ": the bounds of " + quoted(coalesce.inner) +
                                  " depend on " + quoted(coalesce.outer),
                              order[inner].where,
                              "not the same for every " + quoted(coalesce.outer),
                              {"One loop can count through two only when the inner one always "
                               "takes the same number of steps."}));
  const bool is_parallel = order[outer].marks.is_parallel;
  order[outer].name += "_" + order[inner].name;
  order[outer].tile_size = 0;
  order[inner].is_coalesced_into_parent = true;
  for (const LoopId part : unit_of(order, outer)) {
    order[part].marks = {};
    order[part].marks.is_parallel = is_parallel;
  }
  return with_order(schedule, std::move(order));
}

} // namespace kawara::schedule
