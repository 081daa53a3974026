#include "schedule/auto/nest/outer_lanes.h"

#include "schedule/auto/cost/parallel_worth.h"
#include "schedule/auto/facts/distribution.h"
#include "schedule/auto/facts/nest_facts.h"
#include "schedule/auto/rowwise/fuse_rows.h"
#include "schedule/tree/extent.h"
#include "schedule/tree/resolve.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;
using poly::StmtId;

namespace {

/// Vectors of a strip: as many as wait for each other's latency, and are held in registers with the temps beside them.
constexpr int64_t kVectors = 4;
/// A loop that is shorter has no lanes worth having.
constexpr int64_t kShort = 16;

LoopName name(const Schedule& schedule, LoopId loop) {
  return name_of_loop(schedule.scop, schedule.order, loop);
}

bool try_all(Schedule& schedule, const std::vector<Directive>& plan,
             const Environment& environment) {
  auto result = apply(schedule, Group{plan}, environment);
  if (result)
    schedule = *std::move(result);
  return bool(result);
}

/// The first loop with more than one thing in its body, none where that is a nest.
std::optional<LoopId> loop_around_several(const Schedule& schedule, LoopId loop) {
  const poly::TreeNode* node = poly::find_node(schedule.order, loop);
  while (node->body.size() == 1 && node->body.front().is_loop())
    node = &node->body.front();
  const bool is_nest = std::none_of(node->body.begin(), node->body.end(),
                                    [](const poly::TreeNode& part) { return part.is_loop(); });
  return is_nest ? std::nullopt : std::optional(node->loop());
}

/// What loops inside are like.
struct Inside {
  bool has_lanes =
      false; ///< some can run in lanes, or be tiled, itself: it is long, and its iterations need no order but that of a sum
  bool has_steps = false; ///< some iterations follow each other
};

Inside inside_of(const Schedule& schedule, LoopId loop) {
  Distributed parts = distributed_at(schedule.scop, schedule.order, loop);
  Schedule apart = schedule;
  apart.order = std::move(parts.order);
  Inside found;
  for (const LoopId part : parts.loops) {
    const auto nest = perfect_nest_at(apart.order, part);
    if (!nest)
      return {true, false}; // what is in it is not looked at
    const NestFacts facts = facts_of(apart, *nest);
    for (size_t k = 1; k < nest->loops.size(); ++k) {
      const bool is_free = facts.is_parallel[k] || facts.is_reduction[k];
      found.has_lanes |= is_free && facts.extents[k] >= kShort;
      found.has_steps |= !is_free;
    }
  }
  return found;
}

/// Iterations of a strip; 0 where strips are not worth it.
int64_t strip_of(const Schedule& schedule, LoopId loop, const Environment& environment,
                 bool takes_steps) {
  const std::vector<StmtId> statements = poly::statements_below(schedule.order, loop);
  const Strides strides =
      strides_of(schedule.scop, schedule.order, statements, *poly::depth_of(schedule.order, loop));
  if (strides.far > 0 || strides.unit == 0 || strides.writes_same_element)
    return 0;
  int64_t bytes = 1;
  for (const StmtId id : statements)
    bytes = std::max(bytes, scalar::bytes_of(schedule.scop[id].text.value.type().elem));
  const int64_t strip = kVectors * target::vector_lanes(environment.cpu, bytes);
  const auto run = longest_run(schedule.scop, schedule.order, loop);
  if (run && *run < 2 * strip)
    return 0;
  const Inside inside = inside_of(schedule, loop);
  return inside.has_lanes || (takes_steps && !inside.has_steps) ? 0 : strip;
}

/// The outermost loop of a nest, a strip, as lanes inside the others.
std::vector<Directive> lanes_inside(const Schedule& schedule, const Nest& nest, int64_t strip) {
  std::vector<Directive> plan;
  Reorder reorder;
  for (size_t k = 1; k < nest.loops.size(); ++k)
    reorder.loops.push_back(name(schedule, nest.loops[k]));
  reorder.loops.push_back(name(schedule, nest.loops[0]));
  if (nest.loops.size() > 1)
    plan.emplace_back(reorder);
  plan.emplace_back(Vectorize{name(schedule, nest.loops[0]), strip});
  return plan;
}

} // namespace

bool runs_in_lanes(const poly::Order& order, LoopId loop) {
  const std::vector<StmtId> statements = poly::statements_below(order, loop);
  return std::all_of(statements.begin(), statements.end(), [&](StmtId id) {
    const std::vector<LoopId> path = poly::path_of(order, id);
    return std::any_of(path.begin(), path.end(),
                       [&](LoopId each) { return order[each].marks.vector_width != 0; });
  });
}

std::optional<Strips> in_strips(const Schedule& start, LoopId loop, const Environment& environment,
                                bool takes_steps) {
  const auto lanes = loop_around_several(start, loop);
  const int64_t strip = lanes ? strip_of(start, *lanes, environment, takes_steps) : 0;
  Schedule made = start;
  if (strip == 0 || !try_all(made, {Split{name(start, *lanes), strip}}, environment))
    return std::nullopt;
  const StmtId inside = poly::statements_below(start.order, *lanes).front();
  const size_t depth = *poly::depth_of(start.order, *lanes);
  const std::vector<LoopId> path = poly::path_of(made.order, inside);
  for (const std::string& temp : temps_of(made, path[depth]))
    try_all(made, {StoreAt{temp, name(made, path[depth])}}, environment);
  Distributed parts = distributed_at(made.scop, made.order, path[depth + 1]);
  made.order = std::move(parts.order);
  for (const LoopId part : parts.loops) {
    const auto nest = perfect_nest_at(made.order, part);
    if (!nest || !try_all(made, lanes_inside(made, *nest, strip), environment))
      return std::nullopt;
  }
  const LoopId outermost = poly::path_of(made.order, inside).front();
  if (is_worth_threads(made, outermost, environment))
    try_all(made, {Parallel{name(made, outermost)}}, environment);
  made.applied = {Auto{}};
  return Strips{std::move(made), outermost};
}

} // namespace kawara::schedule
