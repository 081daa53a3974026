#include "schedule/auto/nest/recurrence.h"

#include "poly/legality/legality.h"
#include "schedule/auto/facts/function_latency.h"
#include "schedule/auto/nest/nest_loops.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

/// Lanes from which on a scan is ahead of one chain, and of four chains side by side: by the steps
/// that it takes and the latency of the one that waits (docs/notes/blocked_scans.md has what was
/// measured).
constexpr int64_t kLanesOfScan = 4, kLanesBesideRows = 8;
/// A shorter scan is over before its vectors are worth it.
constexpr int64_t kFewVectors = 4;

/// The innermost loop whose iterations follow each other.
std::optional<size_t> recurrence_of(const NestFacts& facts) {
  for (size_t k = facts.extents.size(); k-- > facts.fixed;)
    if (!facts.is_parallel[k] && !facts.is_reduction[k])
      return k;
  return std::nullopt;
}

bool is_worth_rows(const Schedule& schedule, const Nest& nest, const NestFacts& facts,
                   size_t rows) {
  return facts.is_parallel[rows] && facts.extents[rows] >= 2 * kJammedRows &&
         goes_far(shared_strides_at(schedule, nest.statements, nest.depth + rows));
}

} // namespace

void recurrences_side_by_side(const Site& site, const Offer& offer) {
  const Schedule& schedule = site.schedule();
  const Nest& nest = *site.nest();
  const NestFacts& facts = site.facts();
  const NestLoops& loops = nest_loops(site);
  const auto steps = recurrence_of(facts);
  if (loops.kind != NestKind::Plain || !loops.vector || !steps ||
      !is_worth_rows(schedule, nest, facts, *loops.vector) || computes_functions(schedule, nest))
    return;
  const size_t rows = *loops.vector;
  Reorder order{{loop_name(site, rows, ".0")}};
  for (size_t k = facts.fixed; k < nest.loops.size(); ++k)
    if (k != rows && k != *steps)
      order.loops.push_back(loop_name(site, k));
  order.loops.push_back(loop_name(site, *steps));
  order.loops.push_back(loop_name(site, rows, ".1"));
  std::vector<Directive> plan{Split{loop_name(site, rows), kJammedRows}, std::move(order),
                              Unroll{loop_name(site, rows, ".1"), std::nullopt}};
  if (loops.may_share)
    plan.emplace_back(Parallel{loop_name(site, rows, ".0")});
  offer({"rows of a recurrence side by side", nest.statements, std::move(plan)});
}

int64_t shortest_scan_in_lanes(const target::Cpu& cpu, int64_t element_bytes) {
  const int64_t lanes = target::vector_lanes(cpu, element_bytes);
  return lanes < kLanesOfScan ? INT64_MAX : kFewVectors * lanes;
}

std::optional<size_t> scan_in_lanes(const Schedule& schedule, const Nest& nest,
                                    const NestFacts& facts, const target::Cpu& cpu) {
  const auto steps = recurrence_of(facts);
  const int64_t bytes = widest_bytes(schedule, nest);
  const bool has_rows = std::find(facts.is_parallel.begin(), facts.is_parallel.end(), true) !=
                        facts.is_parallel.end();
  if (!steps || (has_rows && target::vector_lanes(cpu, bytes) < kLanesBesideRows) ||
      facts.extents[*steps] < shortest_scan_in_lanes(cpu, bytes) ||
      facts.strides[*steps].far != 0 ||
      !poly::runs_as_scan(schedule.scop, schedule.order, nest.loops[*steps]))
    return std::nullopt;
  return steps;
}

void scans_in_lanes(const Site& site, const Offer& offer) {
  const Nest& nest = *site.nest();
  const NestFacts& facts = site.facts();
  const NestLoops& loops = nest_loops(site);
  const auto steps = loops.kind == NestKind::Plain
                         ? scan_in_lanes(site.schedule(), nest, facts, site.environment().cpu)
                         : std::nullopt;
  if (!steps)
    return;
  std::vector<Directive> plan;
  Reorder order;
  std::optional<size_t> shared;
  for (size_t k = 0; k < nest.loops.size(); ++k) {
    if (k == *steps)
      continue;
    if (facts.is_parallel[k] && facts.extents[k] > 1 && !shared)
      shared = k;
    if (k >= facts.fixed)
      order.loops.push_back(loop_name(site, k));
  }
  if (!order.loops.empty()) {
    order.loops.push_back(loop_name(site, *steps));
    plan.emplace_back(std::move(order));
  }
  plan.emplace_back(Vectorize{loop_name(site, *steps), loops.lanes});
  if (loops.may_share && shared)
    plan.emplace_back(Parallel{loop_name(site, *shared)});
  offer({"scan in lanes", nest.statements, std::move(plan)});
}

} // namespace kawara::schedule
