#include "schedule/auto_split_k.h"

#include "schedule/auto_cuts.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

/// Iterations that make a part worth a thread, and multiply-adds that make threads worth waking.
constexpr int64_t kWorthAPart = 256;
constexpr int64_t kWorthSharing = int64_t{1} << 21;
/// Parts for each thread that would be busy without them: they are added up afterwards.
constexpr double kWorthAdding = 1.5;
/// A loop that leaves fewer threads without a part is shared though another is longer: parts of an outer one lie in one piece.
constexpr double kFewIdle = 0.8;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Threads that so many equal tasks keep busy, on average.
double busy_threads(int64_t tasks, int64_t cores) {
  return static_cast<double>(tasks) / static_cast<double>(ceil_div(tasks, cores));
}

/// `inside`: steps of the reduction for each iteration of the loop.
std::optional<ReductionSplit> in_parts(poly::LoopId loop, int64_t extent, int64_t inside,
                                       int64_t cores) {
  const int64_t parts = std::min({cores, extent, extent * inside / kWorthAPart});
  return parts < 2 ? std::nullopt : std::optional(ReductionSplit{loop, ceil_div(extent, parts)});
}

} // namespace

std::optional<ReductionSplit> reduction_split(const Schedule& schedule, const Product& p,
                                              const Environment& environment) {
  const int64_t cores = environment.cpu.cores;
  if (cores < 2 || p.depth.empty() || schedule.scop.numerics == program::Numerics::Exact)
    return std::nullopt;
  const Cuts cuts = cuts_of(schedule, p, environment);
  const int64_t tiles =
      ceil_div(p.extents[p.rows], std::max<int64_t>(cuts.tile.rows, 1)) *
      ceil_div(p.extents[p.lanes], std::max<int64_t>(cuts.tile.vectors * cuts.lanes, 1)) *
      product_over(p.extents, p.outer);
  const int64_t work = p.extents[p.rows] * p.extents[p.lanes] * product_over(p.extents, p.outer) *
                       product_over(p.extents, p.depth);
  if (work < kWorthSharing)
    return std::nullopt;
  const size_t longest = *std::max_element(p.depth.begin(), p.depth.end(), [&](size_t a, size_t b) {
    return p.extents[a] < p.extents[b];
  });
  const auto split = in_parts(p.nest.loops[longest], p.extents[longest], 1, cores);
  const int64_t parts = split ? ceil_div(p.extents[longest], split->size) : 1;
  return busy_threads(tiles, cores) * kWorthAdding < static_cast<double>(parts) ? split
                                                                                : std::nullopt;
}

std::optional<ReductionSplit> reduction_split(const Schedule& schedule, const Nest& nest,
                                              const NestFacts& facts,
                                              const Environment& environment) {
  const int64_t cores = environment.cpu.cores;
  if (cores < 2 || nest.statements.size() != 1 || facts.fixed > 0 ||
      schedule.scop.numerics == program::Numerics::Exact ||
      schedule.scop[nest.statements.front()].text.op == scalar::ReduceOp::None)
    return std::nullopt;
  int64_t apart = 1, work = 1, steps = 1;
  std::optional<size_t> outermost, longest;
  for (size_t k = 0; k < nest.loops.size(); ++k) {
    const int64_t extent = std::max<int64_t>(facts.extents[k], 1);
    work = std::min(work * extent, int64_t{1} << 40);
    apart = facts.is_parallel[k] ? std::min(apart * extent, int64_t{1} << 20) : apart;
    if (!facts.is_reduction[k] || facts.is_parallel[k])
      continue;
    steps = std::min(steps * extent, int64_t{1} << 40);
    if (!longest || extent > facts.extents[*longest])
      longest = k;
    if (!outermost && busy_threads(extent, cores) >= kFewIdle * static_cast<double>(cores))
      outermost = k;
  }
  if (apart >= cores || work < kWorthSharing || !longest)
    return std::nullopt;
  const size_t shared = outermost.value_or(*longest);
  const int64_t extent = std::max<int64_t>(facts.extents[shared], 1);
  return in_parts(nest.loops[shared], extent, steps / extent, cores);
}

} // namespace kawara::schedule
