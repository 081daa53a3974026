#include "schedule/auto/product/product.h"

#include "schedule/tree/nest.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;
using poly::StmtId;
using scalar::Expr;

std::optional<FusedNest> fused_nest_of(const Schedule& schedule, const Nest& nest,
                                       const Nest& product, const std::vector<size_t>& positions) {
  if (nest.statements.size() != 1)
    return std::nullopt;
  const StmtId id = nest.statements.front(), update = product.statements.front();
  const auto& of_product = schedule.scop[update].text;
  const auto& text = schedule.scop[id].text;
  const std::vector<Expr>* element = text.tensor == of_product.tensor ? &text.index : nullptr;
  scalar::visit(text.value, [&](const Expr& e) {
    if (const auto* load = scalar::as<scalar::Load>(e);
        load != nullptr && load->tensor == of_product.tensor)
      element = &load->index;
  });
  if (element == nullptr)
    return std::nullopt;
  // The fused nest's loop that walks the same way through the result's elements as the product's
  // loop does.
  const auto loop_along = [&](const Expr& row) -> std::optional<LoopId> {
    for (size_t k = 0; k < nest.loops.size(); ++k)
      if (scalar::equal(schedule.order.rows[id.value][nest.depth + k], row))
        return nest.loops[k];
    return std::nullopt;
  };
  const auto loop_like = [&](size_t position) -> std::optional<LoopId> {
    bool is_known = true;
    const Expr& own = schedule.order.rows[update.value][product.depth + position];
    // A dimension may be walked by parts of an iterator that is none itself: sums of parts.
    for (size_t d = 0; d < of_product.index.size(); ++d)
      if (scalar::equal(of_product.index[d], own))
        if (const auto loop = loop_along((*element)[d]))
          return loop;
    const Expr row = scalar::rewrite(own, [&](const Expr& e) -> Expr {
      if (scalar::as<scalar::Iter>(e) == nullptr)
        return {};
      for (size_t d = 0; d < of_product.index.size(); ++d)
        if (scalar::equal(of_product.index[d], e))
          return (*element)[d];
      is_known = false;
      return {};
    });
    return is_known ? loop_along(row) : std::nullopt;
  };
  FusedNest fused_nest{id, nest.loops.front(), {}};
  for (const size_t position : positions) {
    const auto loop = loop_like(position);
    if (!loop)
      return std::nullopt;
    fused_nest.loops.push_back(*loop);
  }
  return fused_nest.loops.size() == nest.loops.size() ? std::optional(fused_nest) : std::nullopt;
}

std::optional<FusedNest> fused_nest_of(const Schedule& schedule, const Nest& nest,
                                       const Product& p) {
  std::vector<size_t> positions = p.outer;
  if (p.combined)
    positions.push_back(*p.combined);
  positions.push_back(p.lanes);
  positions.push_back(p.rows);
  return fused_nest_of(schedule, nest, p.nest, positions);
}

namespace {

/// The loops beside a loop, itself among them; none where statements stand between.
std::vector<LoopId> loops_beside(const poly::Order& order, LoopId loop) {
  const auto parent = parent_of(order, loop);
  const std::vector<poly::TreeNode>& body =
      parent ? poly::find_node(order, *parent)->body : order.body;
  std::vector<LoopId> loops = child_loops(body);
  if (loops.size() != body.size())
    loops.clear();
  return loops;
}

} // namespace

FusedNests fused_nests_around(const poly::Order& order, LoopId loop, const FusedNestFinder& find) {
  FusedNests fused_nests;
  const std::vector<LoopId> loops = loops_beside(order, loop);
  const auto at = std::find(loops.begin(), loops.end(), loop);
  const auto fused_nest = [&](LoopId other) -> std::optional<FusedNest> {
    const auto nest = perfect_nest_at(order, other);
    return nest ? find(*nest) : std::nullopt;
  };
  if (at == loops.end())
    return fused_nests;
  if (at != loops.begin())
    if (const auto found = fused_nest(*std::prev(at)))
      fused_nests.before.push_back(*found);
  for (auto next = std::next(at); next != loops.end(); ++next) {
    const auto found = fused_nest(*next);
    if (!found)
      break;
    fused_nests.after.push_back(*found);
  }
  return fused_nests;
}

std::optional<FusedNest> start_of(const Schedule& schedule, const FusedNest& first,
                                  const FusedNest& sum) {
  const std::vector<LoopId> loops = loops_beside(schedule.order, first.nest);
  const auto at = std::find(loops.begin(), loops.end(), first.nest);
  if (at == loops.end() || at == loops.begin())
    return std::nullopt;
  const auto nest = perfect_nest_at(schedule.order, *std::prev(at));
  const auto of_sum = perfect_nest_at(schedule.order, sum.nest);
  if (!nest || !of_sum || nest->statements.size() != 1)
    return std::nullopt;
  const auto& start = schedule.scop[nest->statements.front()].text;
  if (start.tensor != schedule.scop[sum.statement].text.tensor ||
      start.op != scalar::ReduceOp::None)
    return std::nullopt;
  // The loop over blocks stands before those of the lanes and rows.
  std::vector<size_t> positions;
  for (size_t k = 0; k < sum.loops.size(); ++k)
    if (k + 3 != sum.loops.size())
      positions.push_back(
          static_cast<size_t>(std::find(of_sum->loops.begin(), of_sum->loops.end(), sum.loops[k]) -
                              of_sum->loops.begin()));
  return fused_nest_of(schedule, *nest, *of_sum, positions);
}

Directive keep_tile_in_registers(const Schedule& schedule, StmtId update) {
  // The innermost loop that the update shares with its fused nests: the one above the reduction.
  const std::vector<LoopId> path = poly::path_of(schedule.order, update);
  size_t tile = 0;
  for (size_t d = 0; d < path.size(); ++d)
    if (poly::statements_below(schedule.order, path[d]).size() > 1)
      tile = d;
  const program::Statement& text = schedule.scop[update].text;
  return StoreAt{schedule.scop.tensors[text.tensor].name,
                 {text.name, schedule.order[path[tile]].name}};
}

} // namespace kawara::schedule
