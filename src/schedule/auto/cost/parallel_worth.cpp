#include "schedule/auto/cost/parallel_worth.h"

#include "scalar/expand/expansion.h"
#include "schedule/tree/extent.h"
#include "target/cpu.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

/// Instructions of a function that is spelled out: as many as the exponential takes.
constexpr double kFunction = 22;
/// Steps that take as long as threads need to begin and to end, twice over.
constexpr double kWorthThreads = 4096;
/// Iterations of a loop over a range that is read from data.
constexpr double kReadRange = 16;
/// Where nobody knows how long a loop is, it is long.
constexpr int64_t kUnknownRun = 256;
/// Share of the threads' time in which they have something to do that is good enough.
constexpr double kNearlyAll = 0.8;

} // namespace

double steps_of(const Schedule& schedule, poly::StmtId id, int64_t iterations, int64_t lanes) {
  const program::Statement& text = schedule.scop[id].text;
  double each = 1;
  scalar::visit(text.value, [&](const scalar::Expr& e) {
    if (const auto* unary = scalar::as<scalar::Unary>(e))
      each += scalar::has_expansion(unary->op, scalar::Elem::F32) ? kFunction : 1;
  });
  // A range that is read is a row of some elements, and no lanes take it.
  if (text.over)
    return kReadRange * each * static_cast<double>(iterations);
  return each * static_cast<double>(iterations) / static_cast<double>(lanes);
}

bool is_worth_threads(double steps) { return steps >= kWorthThreads; }

bool is_worth_threads(const Schedule& schedule, poly::LoopId loop, const Environment& environment) {
  double steps = 0;
  for (const poly::StmtId id : poly::statements_below(schedule.order, loop)) {
    int64_t iterations = 1;
    for (const poly::LoopId around : poly::path_of(schedule.order, id))
      iterations = std::min(
          iterations * known_run(schedule.scop, schedule.order, around).value_or(kUnknownRun),
          int64_t{1} << 40);
    const scalar::Elem elem = schedule.scop.tensors[schedule.scop[id].text.tensor].elem;
    const int64_t bytes = scalar::bytes_of(scalar::compute_type(elem));
    steps += steps_of(schedule, id, iterations, target::vector_lanes(environment.cpu, bytes));
  }
  return is_worth_threads(steps);
}

std::optional<size_t> best_shared_loop(const NestFacts& facts, const std::vector<size_t>& loops,
                                       int64_t cores) {
  const auto busy = [&](size_t k) {
    const int64_t rounds = (facts.extents[k] + cores - 1) / cores;
    return static_cast<double>(facts.extents[k]) / static_cast<double>(rounds * cores);
  };
  std::optional<size_t> best;
  for (const size_t k : loops) {
    if (!facts.is_parallel[k] || facts.extents[k] < 2)
      continue;
    if (busy(k) >= kNearlyAll)
      return k;
    if (!best || busy(k) > busy(*best))
      best = k;
  }
  return best;
}

} // namespace kawara::schedule
