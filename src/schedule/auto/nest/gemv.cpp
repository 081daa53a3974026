#include "schedule/auto/nest/gemv.h"

#include "schedule/auto/facts/data_dependence.h"
#include "schedule/auto/facts/dataflow.h"

namespace kawara::schedule {
namespace {

/// Rows that pay for the copy, vectors of a row that pay for adding up lanes, and products that pay
/// for threads.
constexpr int64_t kDotRows = 8, kDotVectors = 4, kDotThreads = 32768;

/// With vectors of a whole line, one of a row pays for adding up its lanes, and a copy that is kept
/// from call to call pays for itself with a single row, and one column with elements in rows of
/// their own. Columns far apart come into such vectors element by element, which takes two to five
/// times as long (docs/notes/short_sums.md).
struct Shortest {
  int64_t rows, columns, vectors;
};
Shortest shortest(const Schedule& schedule, uint32_t right, const target::Cpu& cpu) {
  if (cpu.vector_bytes < cpu.caches.line)
    return {kDotRows, 2, kDotVectors};
  return Dataflow(schedule.scop)[right].keeps_values ? Shortest{1, 1, 1} : Shortest{kDotRows, 2, 1};
}

/// The loops of a nest of one sum of products by what they move.
struct Dots {
  std::vector<size_t> rows, columns;
  size_t depth = 0;
  uint32_t right = 0;
};

std::optional<Dots> dots_of(const NestFacts& facts) {
  const AccessTable& table = facts.accesses;
  if (table.size() != 3 || table[1].tensor == table[2].tensor)
    return std::nullopt;
  std::optional<size_t> depth;
  for (size_t k = 0; k < facts.extents.size(); ++k) {
    if (!table[0].stays(k))
      continue;
    if (depth || !facts.is_reduction[k])
      return std::nullopt;
    depth = k;
  }
  if (!depth || table[1].moves[*depth] == table[2].moves[*depth] || table[1].stays(*depth) ||
      table[2].stays(*depth))
    return std::nullopt;
  const bool is_first_right = table[1].moves[*depth] == Move::Far;
  const LoopAccess &right = table[is_first_right ? 1 : 2], &left = table[is_first_right ? 2 : 1];
  Dots dots{{}, {}, *depth, right.tensor};
  for (size_t k = 0; k < facts.extents.size(); ++k) {
    if (k == *depth)
      continue;
    if (!facts.is_parallel[k] || left.stays(k) == right.stays(k))
      return std::nullopt;
    (right.stays(k) ? dots.rows : dots.columns).push_back(k);
  }
  return dots;
}

} // namespace

void dot_products(const Site& site, const Offer& offer) {
  const Schedule& schedule = site.schedule();
  const Nest& nest = *site.nest();
  const NestFacts& facts = site.facts();
  const Environment& environment = site.environment();
  if (nest.statements.size() != 1 || facts.fixed != 0 || depends_on_data(schedule.scop))
    return;
  const program::Statement& text = schedule.scop[nest.statements.front()].text;
  const scalar::Elem elem = scalar::compute_type(schedule.scop.tensors[text.tensor].elem);
  const auto dots = text.op == scalar::ReduceOp::Sum ? dots_of(facts) : std::nullopt;
  if (!dots || !scalar::is_float(elem))
    return;
  const int64_t lanes = target::vector_lanes(environment.cpu, scalar::bytes_of(elem));
  int64_t rows = 1, columns = 1;
  for (const size_t k : dots->rows)
    rows = std::min(rows * facts.extents[k], int64_t{1} << 30);
  for (const size_t k : dots->columns)
    columns = std::min(columns * facts.extents[k], int64_t{1} << 30);
  const int64_t depth = facts.extents[dots->depth];
  const Shortest least = shortest(schedule, dots->right, environment.cpu);
  if (rows < least.rows || columns < least.columns || columns >= 2 * lanes ||
      depth < least.vectors * lanes)
    return;
  // With the statement: the copy's loops will have the same names.
  const auto name = [&](size_t k) {
    return LoopName{text.name, schedule.order[nest.loops[k]].name};
  };
  Reorder order;
  for (const auto* loops : {&dots->rows, &dots->columns})
    for (const size_t k : *loops)
      order.loops.push_back(name(k));
  order.loops.push_back(name(dots->depth));
  const LoopName outermost = order.loops.front();
  std::vector<Directive> plan{std::move(order),
                              Pack{schedule.scop.tensors[dots->right].name, std::nullopt, {}},
                              Vectorize{name(dots->depth), lanes}};
  if (site.may_be_parallel() && rows * columns * depth >= kDotThreads)
    plan.emplace_back(Parallel{outermost});
  offer({"dot products", nest.statements, std::move(plan)});
}

} // namespace kawara::schedule
