#include "schedule/auto/nest/outer_lanes.h"

#include "schedule/auto/cost/parallel_worth.h"
#include "schedule/auto/facts/distribution.h"
#include "schedule/auto/facts/nest_facts.h"
#include "schedule/auto/nest/recurrence.h"
#include "schedule/auto/rowwise/fuse_rows.h"
#include "schedule/tree/extent.h"
#include "schedule/tree/resolve.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;
using poly::StmtId;

namespace {

/// Vectors of a strip: as many as wait for each other's latency, and are held in registers with the
/// temps beside them.
constexpr int64_t kVectors = 4;
/// A loop that is shorter has no lanes worth having.
constexpr int64_t kShortLanes = 16;

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
  bool has_lanes = false; ///< some can run in lanes, or be tiled, itself: it is long, and its
                          ///< iterations need no order but that of a sum or scan
  bool has_steps = false; ///< some iterations follow each other
};

Inside inside_of(const Schedule& schedule, LoopId loop, const target::Cpu& cpu) {
  Distributed parts = distributed_at(schedule.scop, schedule.order, loop);
  Schedule apart = schedule;
  apart.order = std::move(parts.order);
  Inside found;
  for (const LoopId part : parts.loops) {
    const auto nest = perfect_nest_at(apart.order, part);
    if (!nest)
      return {true, false}; // what is in it is not looked at
    const NestFacts facts = facts_of(apart, *nest);
    const auto scan = scan_in_lanes(apart, *nest, facts, cpu);
    for (size_t k = 1; k < nest->loops.size(); ++k) {
      const bool is_free = facts.is_parallel[k] || facts.is_reduction[k] || scan == k;
      found.has_lanes |= is_free && facts.extents[k] >= kShortLanes;
      found.has_steps |= !is_free;
    }
  }
  return found;
}

/// Iterations of the loop that run together, as lanes or side by side.
struct Strip {
  int64_t size = 0; ///< 0 where strips are not worth it
  bool has_lanes = true;
  int64_t width = 0; ///< of its vectors
};

/// Whether a loop inside goes from row to row of a tensor that the L2 does not hold: short pieces
/// of rows would be fetched one by one.
bool steps_through_memory(const Schedule& schedule, LoopId loop,
                          const std::vector<StmtId>& statements, const target::Cpu& cpu) {
  const size_t depth = *poly::depth_of(schedule.order, loop);
  for (const StmtId id : statements)
    for (const LoopAccess& access : access_table(schedule.scop, schedule.order, id))
      if (!access.is_write &&
          bytes_of_tensor(schedule.scop.tensors[access.tensor]) > cpu.caches.l2 &&
          std::find(access.moves.begin() + static_cast<std::ptrdiff_t>(depth) + 1,
                    access.moves.end(), Move::Far) != access.moves.end())
        return true;
  return false;
}

/// Lanes of a strip whose temps stay in the L1: even over the cores, in whole vectors.
int64_t share_of_lanes(int64_t run, int64_t bytes, int64_t width, const target::Cpu& cpu) {
  const int64_t fits = cpu.caches.l1d / 4 / bytes;
  const int64_t even = (run + cpu.cores - 1) / cpu.cores;
  return std::max(width, std::min(fits, even) / width * width);
}

/// Statements below the loop that run more than once in an iteration.
std::vector<StmtId> in_loops_inside(const Schedule& schedule, LoopId loop) {
  std::vector<StmtId> statements;
  for (const StmtId id : poly::statements_below(schedule.order, loop))
    if (poly::path_of(schedule.order, id).back() != loop)
      statements.push_back(id);
  return statements;
}

/// Iterations of a strip; 0 where strips are not worth it.
Strip strip_of(const Schedule& schedule, LoopId loop, const Environment& environment,
               bool takes_steps) {
  const std::vector<StmtId> statements = poly::statements_below(schedule.order, loop);
  const size_t depth = *poly::depth_of(schedule.order, loop);
  const Strides strides = strides_at(schedule, statements, depth);
  if (strides.writes_same_element)
    return {};
  const bool is_far =
      takes_steps && goes_far(shared_strides_at(schedule, in_loops_inside(schedule, loop), depth));
  if (!is_far && (strides.far > 0 || strides.unit == 0))
    return {};
  int64_t bytes = 1;
  for (const StmtId id : statements)
    bytes = std::max(bytes, scalar::bytes_of(schedule.scop[id].text.value.type().elem));
  const int64_t strip =
      is_far ? kJammedRows : kVectors * target::vector_lanes(environment.cpu, bytes);
  const auto run = known_run(schedule.scop, schedule.order, loop);
  if (run && *run < 2 * strip)
    return {};
  const Inside inside = inside_of(schedule, loop, environment.cpu);
  const bool gains = !inside.has_lanes && (!takes_steps || inside.has_steps);
  if (!gains)
    return {};
  if (!is_far && run && steps_through_memory(schedule, loop, statements, environment.cpu))
    return {share_of_lanes(*run, bytes, strip, environment.cpu), true, strip};
  return {strip, !is_far, strip};
}

/// The outermost loop of a nest, a strip, inside the others.
std::vector<Directive> strip_inside(const Schedule& schedule, const Nest& nest, Strip strip) {
  std::vector<Directive> plan;
  Reorder reorder;
  for (size_t k = 1; k < nest.loops.size(); ++k)
    reorder.loops.push_back(name(schedule, nest.loops[k]));
  reorder.loops.push_back(name(schedule, nest.loops[0]));
  if (nest.loops.size() > 1)
    plan.emplace_back(reorder);
  const LoopName inner = name(schedule, nest.loops[0]);
  if (strip.has_lanes)
    plan.emplace_back(Vectorize{inner, strip.width});
  else
    plan.emplace_back(Unroll{inner, std::nullopt});
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
  const Strip strip = lanes ? strip_of(start, *lanes, environment, takes_steps) : Strip{};
  Schedule made = start;
  if (strip.size == 0 || !try_all(made, {Split{name(start, *lanes), strip.size}}, environment))
    return std::nullopt;
  const StmtId inside = poly::statements_below(start.order, *lanes).front();
  const size_t depth = *poly::depth_of(start.order, *lanes);
  const std::vector<LoopId> path = poly::path_of(made.order, inside);
  for (const std::string& temp : temps_of(made, path[depth]))
    try_all(made, {StoreAt{temp, name(made, path[depth])}}, environment);
  Distributed parts = distributed_at(made.scop, made.order, path[depth + 1]);
  put_distributed(made, path[depth + 1], std::move(parts.order));
  for (const LoopId part : parts.loops) {
    const auto nest = perfect_nest_at(made.order, part);
    if (!nest || !try_all(made, strip_inside(made, *nest, strip), environment))
      return std::nullopt;
  }
  const LoopId outermost = poly::path_of(made.order, inside).front();
  if (is_worth_threads(made, outermost, environment))
    try_all(made, {Parallel{name(made, outermost)}}, environment);
  return Strips{std::move(made), outermost};
}

} // namespace kawara::schedule
