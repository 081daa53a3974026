#include "schedule/auto/product/amx_convolution.h"

#include "schedule/auto/facts/dataflow.h"
#include "schedule/auto/product/blocking.h"
#include "schedule/loops/coalesce.h"
#include "schedule/tree/nest.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;
using poly::StmtId;

namespace {

/// Uses of an element that make up for laying it out, and what tiles have to gain over the best
/// other way.
constexpr int64_t kWorthLayingOut = 64;
constexpr double kClearGain = 1.2;
/// Fewer rows leave most of a tile empty.
constexpr int64_t kLeastTileRows = 5, kMostTileRows = 16;

/// The most neighbouring elements of a row of that many that tiles share evenly.
int64_t rows_of_tiles(int64_t width) {
  for (int64_t rows = std::min(width, kMostTileRows); rows > 1; --rows)
    if (width % rows == 0)
      return rows;
  return 1;
}

/// The loops around the rows, innermost first, that move the image and not the weights, one
/// directly inside the other.
std::vector<size_t> loops_to_join(const Schedule& schedule, const Product& p) {
  std::vector<size_t> joined;
  for (size_t k = p.rows; k-- > 0;) {
    const bool is_outer = std::find(p.outer.begin(), p.outer.end(), k) != p.outer.end();
    if (!is_outer || !stays_along(schedule, p, p.right, k) || stays_along(schedule, p, p.left, k))
      break;
    joined.push_back(k);
  }
  return joined;
}

/// Makes one loop of a statement's loops, of which the first is the innermost; each is directly
/// inside the next.
bool make_one_loop(Schedule& schedule, StmtId id, const std::vector<LoopId>& loops,
                   const Environment& environment) {
  for (size_t k = 1; k < loops.size(); ++k) {
    const std::string& statement = schedule.scop[id].text.name;
    const Coalesce both{{statement, schedule.order[loops[k]].name},
                        {statement, schedule.order[loops[k - 1]].name}};
    auto next = apply(schedule, both, environment);
    if (!next)
      return false;
    auto single = as_single_loop(*next, loops[k], "");
    if (!single)
      return false;
    schedule = *std::move(next);
    schedule.order = *std::move(single);
  }
  return true;
}

/// The fused nest's loops that stand for the product's at these positions.
std::vector<LoopId> loops_like(const Product& p, const FusedNest& fused_nest,
                               const std::vector<size_t>& positions) {
  std::vector<LoopId> loops;
  for (const size_t k : positions) {
    const auto at = std::find(p.outer.begin(), p.outer.end(), k);
    loops.push_back(k == p.rows ? fused_nest.loops.back()
                                : fused_nest.loops[static_cast<size_t>(at - p.outer.begin())]);
  }
  return loops;
}

/// The product where the loops at `joined`, its rows first, have become the outermost of them.
/// `apart`: the schedule before.
std::optional<Product> joined_product(const Schedule& apart, const Schedule& schedule,
                                      const Product& p, const std::vector<size_t>& joined) {
  const LoopId root = poly::path_of(schedule.order, p.update()).front();
  const auto nest = perfect_nest_at(schedule.order, root);
  if (!nest)
    return std::nullopt;
  const auto position_of = [&](size_t old) {
    const bool is_joined = std::find(joined.begin(), joined.end(), old) != joined.end();
    const LoopId loop = p.nest.loops[is_joined ? joined.back() : old];
    return static_cast<size_t>(std::find(nest->loops.begin(), nest->loops.end(), loop) -
                               nest->loops.begin());
  };
  Product q = p;
  q.nest = *nest;
  q.extents.assign(nest->loops.size(), 1);
  for (size_t k = 0; k < p.extents.size(); ++k) {
    if (position_of(k) == nest->loops.size())
      return std::nullopt;
    q.extents[position_of(k)] *= p.extents[k];
  }
  q.rows = position_of(p.rows);
  q.lanes = position_of(p.lanes);
  q.groups = position_of(*p.groups);
  for (size_t& k : q.depth)
    k = position_of(k);
  q.outer.clear();
  const Dataflow flow(schedule.scop);
  q.left_reused_by_some_outer = flow[p.left].keeps_values;
  q.right_reused_by_some_outer = flow[p.right].keeps_values;
  for (const size_t k : p.outer)
    if (std::find(joined.begin(), joined.end(), k) == joined.end()) {
      q.outer.push_back(position_of(k));
      q.left_reused_by_some_outer = q.left_reused_by_some_outer || stays_along(apart, p, p.left, k);
      q.right_reused_by_some_outer =
          q.right_reused_by_some_outer || stays_along(apart, p, p.right, k);
    }
  return q;
}

/// Joins the loops of the product and of the nests that begin or finish its elements.
std::optional<Grouped> with_joined_loops(Schedule schedule, Product p,
                                         const Environment& environment) {
  const LoopId root = poly::path_of(schedule.order, p.update()).front();
  const auto [before, after] = fused_nests_around(
      schedule.order, root, [&](const Nest& nest) { return fused_nest_of(schedule, nest, p); });
  std::vector<size_t> joined = loops_to_join(schedule, p);
  joined.insert(joined.begin(), p.rows);
  std::vector<LoopId> own;
  for (const size_t k : joined)
    own.push_back(p.nest.loops[k]);
  const Schedule apart = schedule;
  if (!make_one_loop(schedule, p.update(), own, environment))
    return std::nullopt;
  for (const auto* list : {&before, &after})
    for (const FusedNest& fused_nest : *list)
      if (!make_one_loop(schedule, fused_nest.statement, loops_like(p, fused_nest, joined),
                         environment))
        return std::nullopt;
  auto made = joined_product(apart, schedule, p, joined);
  if (!made)
    return std::nullopt;
  return Grouped{std::move(schedule), *std::move(made), root};
}

/// What plain vectors or another instruction do at once.
double speed_without_tiles(const Schedule& schedule, const Product& p, size_t channels,
                           const Environment& environment) {
  Product grouped = p;
  grouped.groups = channels;
  grouped.tile_rows.reset();
  const auto other = instruction_laid_out(schedule, grouped, environment);
  return other ? std::max(other->speed, 1.0) : 1.0;
}

} // namespace

bool fills_tiles(int64_t width) { return rows_of_tiles(width) >= kLeastTileRows; }

std::optional<Grouped> with_tile_rows(const Schedule& schedule, const Product& p,
                                      const Environment& environment) {
  const auto channels = channels_of(schedule, p);
  const bool is_image = p.left_has_window || !loops_to_join(schedule, p).empty();
  if (!channels || !is_image || environment.gpu || p.left == p.right || p.nest.depth != 0 ||
      p.combined || p.parts || schedule.scop.tensors[p.left].private_dims != 0)
    return std::nullopt;
  Product tiled = p;
  tiled.groups = channels->position;
  tiled.tile_rows = rows_of_tiles(p.extents[p.rows]);
  const auto instruction = instruction_laid_out(schedule, tiled, environment);
  if (!fills_tiles(p.extents[p.rows]) || !instruction || !instruction->is_tile ||
      instruction->speed <
          kClearGain * speed_without_tiles(schedule, p, channels->position, environment))
    return std::nullopt;
  Schedule laid_out = schedule;
  if (p.groups != channels->position) {
    const int64_t taps = product_over(p.extents, p.depth) / p.extents[channels->position];
    if (p.extents[p.lanes] * taps < kWorthLayingOut)
      return std::nullopt;
    const size_t rank = schedule.scop.tensors[p.left].shape.size();
    const bool is_temp = schedule.scop.tensors[p.left].role == program::Role::Temp;
    auto next = apply(schedule,
                      Layout{schedule.scop.tensors[p.left].name,
                             in_groups(rank, channels->left_dim, instruction->depth)},
                      environment);
    if (!next)
      return std::nullopt;
    if (!is_temp)
      tiled.left = static_cast<uint32_t>(schedule.scop.tensors.size());
    laid_out = *std::move(next);
    const LoopId root = poly::path_of(laid_out.order, p.update()).front();
    tiled.nest = *perfect_nest_at(laid_out.order, root);
  }
  auto joined = with_joined_loops(std::move(laid_out), std::move(tiled), environment);
  if (!joined || !runs_as_instruction(joined->schedule, joined->product, environment))
    return std::nullopt;
  return joined;
}

} // namespace kawara::schedule
