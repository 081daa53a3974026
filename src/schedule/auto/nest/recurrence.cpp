#include "schedule/auto/nest/recurrence.h"

#include "poly/legality/legality.h"
#include "schedule/auto/facts/function_latency.h"
#include "schedule/auto/facts/vector_loop.h"
#include "schedule/tree/resolve.h"

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

std::vector<Directive> recurrence_plan(const Schedule& schedule, const Nest& nest,
                                       const NestFacts& facts, bool may_be_parallel) {
  const auto rows = best_vector_loop(facts);
  const auto steps = recurrence_of(facts);
  if (!rows || !steps || !is_worth_rows(schedule, nest, facts, *rows) ||
      computes_functions(schedule, nest))
    return {};
  const auto name = [&](size_t k, const char* part = "") {
    LoopName loop = name_of_loop(schedule.scop, schedule.order, nest.loops[k]);
    loop.loop += part;
    return loop;
  };
  Reorder order{{name(*rows, ".0")}};
  for (size_t k = facts.fixed; k < nest.loops.size(); ++k)
    if (k != *rows && k != *steps)
      order.loops.push_back(name(k));
  order.loops.push_back(name(*steps));
  order.loops.push_back(name(*rows, ".1"));
  std::vector<Directive> plan{Split{name(*rows), kJammedRows}, std::move(order),
                              Unroll{name(*rows, ".1"), std::nullopt}};
  if (may_be_parallel)
    plan.emplace_back(Parallel{name(*rows, ".0")});
  return plan;
}

std::optional<size_t> scan_in_lanes(const Schedule& schedule, const Nest& nest,
                                    const NestFacts& facts, const target::Cpu& cpu) {
  const auto steps = recurrence_of(facts);
  const int64_t lanes = target::vector_lanes(cpu, widest_bytes(schedule, nest));
  const bool has_rows = std::find(facts.is_parallel.begin(), facts.is_parallel.end(), true) !=
                        facts.is_parallel.end();
  if (!steps || lanes < (has_rows ? kLanesBesideRows : kLanesOfScan) ||
      facts.extents[*steps] < kFewVectors * lanes || facts.strides[*steps].far != 0 ||
      !poly::runs_as_scan(schedule.scop, schedule.order, nest.loops[*steps]))
    return std::nullopt;
  return steps;
}

std::vector<Directive> scan_plan(const Schedule& schedule, const Nest& nest, const NestFacts& facts,
                                 const target::Cpu& cpu, bool may_be_parallel) {
  const auto steps = scan_in_lanes(schedule, nest, facts, cpu);
  if (!steps)
    return {};
  const auto name = [&](size_t k) {
    return name_of_loop(schedule.scop, schedule.order, nest.loops[k]);
  };
  std::vector<Directive> plan;
  Reorder order;
  std::optional<size_t> shared;
  for (size_t k = 0; k < nest.loops.size(); ++k) {
    if (k == *steps)
      continue;
    if (facts.is_parallel[k] && facts.extents[k] > 1 && !shared)
      shared = k;
    if (k >= facts.fixed)
      order.loops.push_back(name(k));
  }
  if (!order.loops.empty()) {
    order.loops.push_back(name(*steps));
    plan.emplace_back(std::move(order));
  }
  plan.emplace_back(
      Vectorize{name(*steps), target::vector_lanes(cpu, widest_bytes(schedule, nest))});
  if (may_be_parallel && shared)
    plan.emplace_back(Parallel{name(*shared)});
  return plan;
}

} // namespace kawara::schedule
