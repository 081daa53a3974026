#include "schedule/auto/product/split_k.h"

#include "schedule/auto/cost/parallel_worth.h"
#include "schedule/auto/facts/vector_loop.h"
#include "schedule/auto/product/blocking.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

/// Iterations that make a part worth a thread, and multiply-adds that make threads worth waking.
constexpr int64_t kWorthAPart = 256;
constexpr int64_t kWorthSharing = int64_t{1} << 21;
/// Vector instructions of a sum that take as long with two threads as with one: both halves are
/// started, awaited and added.
constexpr double kWorthHalves = 1 << 16;
/// Parts for each thread that would be busy without them: they are added up afterwards.
constexpr double kWorthAdding = 1.5;
/// Bytes that a thread with a part of the result reads, for each that one with a part of the
/// reduction does: from there on the parts win.
constexpr double kReadTwice = 1.4;
/// A loop that leaves fewer threads without a part is shared though another is longer: parts of an
/// outer one lie in one piece.
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

/// Tiles of the result as one thread would cut it: those that are made smaller for many threads
/// load more for each product.
int64_t whole_tiles(const Schedule& schedule, const Product& p, Environment environment) {
  environment.cpu.cores = 1;
  const Cuts cuts = cuts_of(schedule, p, environment);
  return ceil_div(p.extents[p.rows], std::max<int64_t>(cuts.tile.rows, 1)) *
         ceil_div(p.extents[p.lanes], std::max<int64_t>(cuts.tile.vectors * cuts.lanes, 1)) *
         product_over(p.extents, p.outer);
}

/// Whether a thread that has some rows and columns of the result reads much more of the operands
/// than one that has a part of the reduction, and more than its L2 holds.
bool reads_less_in_parts(const Schedule& schedule, const Product& p, const Environment& environment,
                         int64_t parts) {
  if (!p.outer.empty() || parts < environment.cpu.cores)
    return false;
  const ThreadGrid grid = cuts_of(schedule, p, environment).grid;
  const int64_t deep = product_over(p.extents, p.depth) * element_bytes(schedule, p);
  const int64_t of_tiles = (ceil_div(p.extents[p.rows], grid.row_parts) +
                            ceil_div(p.extents[p.lanes], grid.column_parts)) *
                           deep;
  const int64_t of_part = (p.extents[p.rows] + p.extents[p.lanes]) * deep / parts;
  return of_tiles > environment.cpu.caches.l2 &&
         static_cast<double>(of_tiles) > kReadTwice * static_cast<double>(of_part);
}

} // namespace

std::optional<ReductionSplit> reduction_split(const Schedule& schedule, const Product& p,
                                              const Environment& environment) {
  const int64_t cores = environment.cpu.cores;
  if (cores < 2 || p.depth.empty() || schedule.scop.numerics == program::Numerics::Exact)
    return std::nullopt;
  const int64_t work = p.extents[p.rows] * p.extents[p.lanes] * product_over(p.extents, p.outer) *
                       product_over(p.extents, p.depth);
  if (work < kWorthSharing)
    return std::nullopt;
  const size_t longest = *std::max_element(p.depth.begin(), p.depth.end(), [&](size_t a, size_t b) {
    return p.extents[a] < p.extents[b];
  });
  const auto split = in_parts(p.nest.loops[longest], p.extents[longest], 1, cores);
  if (!split)
    return std::nullopt;
  const int64_t parts = ceil_div(p.extents[longest], split->size);
  const int64_t tiles = whole_tiles(schedule, p, environment);
  const bool has_too_few = busy_threads(tiles, cores) * kWorthAdding < static_cast<double>(parts);
  const bool has_few = tiles <= 2 * cores;
  return has_too_few || (has_few && reads_less_in_parts(schedule, p, environment, parts))
             ? split
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
  const auto lanes = best_vector_loop(facts);
  if (lanes && facts.is_parallel[*lanes] && facts.extents[*lanes] >= kLongLanes)
    return std::nullopt;
  double busy = 1;
  int64_t work = 1, steps = 1;
  std::optional<size_t> outermost, longest;
  for (size_t k = 0; k < nest.loops.size(); ++k) {
    const int64_t extent = std::max<int64_t>(facts.extents[k], 1);
    work = std::min(work * extent, int64_t{1} << 40);
    if (facts.is_parallel[k] && k != lanes)
      busy = std::max(busy, busy_threads(extent, cores));
    if (!facts.is_reduction[k] || facts.is_parallel[k])
      continue;
    steps = std::min(steps * extent, int64_t{1} << 40);
    if (!longest || extent > facts.extents[*longest])
      longest = k;
    if (!outermost && busy_threads(extent, cores) >= kFewIdle * static_cast<double>(cores))
      outermost = k;
  }
  const program::Statement& text = schedule.scop[nest.statements.front()].text;
  const int64_t bytes =
      scalar::bytes_of(scalar::compute_type(schedule.scop.tensors[text.tensor].elem));
  const double instructions = steps_of(schedule, nest.statements.front(), work,
                                       target::vector_lanes(environment.cpu, bytes));
  if (busy >= kFewIdle * static_cast<double>(cores) || instructions < kWorthHalves || !longest)
    return std::nullopt;
  const size_t shared = outermost.value_or(*longest);
  const int64_t extent = std::max<int64_t>(facts.extents[shared], 1);
  return in_parts(nest.loops[shared], extent, steps / extent, cores);
}

std::optional<Product> product_in_parts(const Schedule& schedule, poly::LoopId loop,
                                        const std::string& parts, const Environment& environment) {
  auto product = product_at(schedule, loop, environment);
  if (product)
    for (const size_t k : product->outer)
      if (schedule.order[product->nest.loops[k]].name == parts)
        product->parts = k;
  return product && product->parts ? product : std::nullopt;
}

std::vector<Directive> sum_in_parts(const Schedule& schedule, const Nest& nest,
                                    const ReductionSplit& split) {
  const std::string statement = schedule.scop[nest.statements.front()].text.name;
  const std::string loop = schedule.order[split.loop].name;
  Reorder reorder{{{statement, loop + ".0"}}};
  for (const poly::LoopId other : nest.loops)
    reorder.loops.push_back(
        {statement, other == split.loop ? loop + ".1" : schedule.order[other].name});
  return {Split{{statement, loop}, split.size}, Rfactor{{statement, loop + ".0"}}, reorder};
}

} // namespace kawara::schedule
