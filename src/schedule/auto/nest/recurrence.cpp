#include "schedule/auto/nest/recurrence.h"

#include "schedule/auto/facts/function_latency.h"
#include "schedule/auto/facts/vector_loop.h"
#include "schedule/tree/resolve.h"

namespace kawara::schedule {
namespace {

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
         goes_far(shared_strides(schedule, nest.statements, nest.depth + rows));
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

} // namespace kawara::schedule
