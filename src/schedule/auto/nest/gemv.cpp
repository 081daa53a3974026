#include "schedule/auto/nest/gemv.h"

#include "schedule/auto/product/product.h"

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
  return keeps_values(schedule, right) ? Shortest{1, 1, 1} : Shortest{kDotRows, 2, 1};
}

/// The loops of a nest of one sum of products by what they move.
struct Dots {
  std::vector<size_t> rows, columns;
  size_t depth = 0;
  uint32_t right = 0;
};

std::optional<Dots> dots_of(const Schedule& schedule, const Nest& nest, const NestFacts& facts) {
  const poly::StmtId update = nest.statements.front();
  std::vector<uint32_t> loaded;
  scalar::visit(schedule.scop[update].text.value, [&](const scalar::Expr& e) {
    if (const auto* load = scalar::as<scalar::Load>(e))
      loaded.push_back(load->tensor);
  });
  if (loaded.size() != 2 || loaded[0] == loaded[1])
    return std::nullopt;
  std::vector<std::vector<Move>> moves;
  std::optional<size_t> depth;
  for (size_t k = 0; k < nest.loops.size(); ++k) {
    moves.push_back(moves_of(schedule.scop, schedule.order, update, nest.depth + k));
    if (moves[k][0] != Move::None)
      continue;
    if (depth || !facts.is_reduction[k])
      return std::nullopt;
    depth = k;
  }
  if (!depth || moves[*depth][1] == moves[*depth][2] || moves[*depth][1] == Move::None ||
      moves[*depth][2] == Move::None)
    return std::nullopt;
  const size_t right = moves[*depth][1] == Move::Far ? 1 : 2, left = 3 - right;
  Dots dots{{}, {}, *depth, loaded[right - 1]};
  for (size_t k = 0; k < nest.loops.size(); ++k) {
    if (k == *depth)
      continue;
    if (!facts.is_parallel[k] || (moves[k][left] == Move::None) == (moves[k][right] == Move::None))
      return std::nullopt;
    (moves[k][right] == Move::None ? dots.rows : dots.columns).push_back(k);
  }
  return dots;
}

} // namespace

std::vector<Directive> dots_plan(const Schedule& schedule, const Nest& nest, const NestFacts& facts,
                                 const Environment& environment, bool may_be_parallel) {
  if (nest.statements.size() != 1 || facts.fixed != 0 || environment.gpu)
    return {};
  const program::Statement& text = schedule.scop[nest.statements.front()].text;
  const scalar::Elem elem = scalar::compute_type(schedule.scop.tensors[text.tensor].elem);
  const auto dots =
      text.op == scalar::ReduceOp::Sum ? dots_of(schedule, nest, facts) : std::nullopt;
  if (!dots || !scalar::is_float(elem))
    return {};
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
    return {};
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
  if (may_be_parallel && rows * columns * depth >= kDotThreads)
    plan.emplace_back(Parallel{outermost});
  return plan;
}

} // namespace kawara::schedule
