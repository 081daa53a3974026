#include "schedule/auto/nest/gemv.h"

#include "schedule/auto/facts/data_dependence.h"
#include "schedule/auto/facts/dataflow.h"
#include "schedule/auto/facts/distribution.h"
#include "schedule/tree/extent.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;
using poly::StmtId;

namespace {

/// Rows that pay for the copy, vectors of a row that pay for adding up lanes, and products that pay
/// for threads.
constexpr int64_t kDotRows = 8, kDotVectors = 4, kDotThreads = 32768;

/// Vectors of rows that are added up side by side hide the latency of an addition.
constexpr int64_t kPanelVectors = 4;

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

/// The loops of a nest that multiplies a matrix, whose rows lie along the sum, by a vector; loops
/// of one iteration are neither.
struct MatrixByVector {
  size_t rows = 0, depth = 0;
  uint32_t matrix = 0;
  std::vector<size_t> single;
};

std::optional<MatrixByVector> matrix_by_vector(const NestFacts& facts) {
  const AccessTable& table = facts.accesses;
  if (table.size() != 3 || table[1].tensor == table[2].tensor)
    return std::nullopt;
  std::optional<size_t> rows, depth;
  MatrixByVector found;
  for (size_t k = 0; k < facts.extents.size(); ++k) {
    if (facts.is_open[k])
      return std::nullopt;
    std::optional<size_t>& role = table[0].stays(k) ? depth : rows;
    if (facts.extents[k] == 1)
      found.single.push_back(k);
    else if (role)
      return std::nullopt;
    else
      role = k;
  }
  if (!rows || !depth || !facts.is_parallel[*rows] || table[0].moves[*rows] != Move::Unit)
    return std::nullopt;
  const LoopAccess& matrix = table[table[1].stays(*rows) ? 2 : 1];
  const LoopAccess& vector = table[table[1].stays(*rows) ? 1 : 2];
  if (!vector.stays(*rows) || vector.stays(*depth) || matrix.moves[*rows] != Move::Far ||
      matrix.stays(*depth))
    return std::nullopt;
  found.rows = *rows;
  found.depth = *depth;
  found.matrix = matrix.tensor;
  return found;
}

/// Whether a loop around the nest uses the same matrix in so many iterations that a copy before it
/// pays, and does not change it.
bool is_used_in_steps(const Schedule& schedule, const Nest& nest, uint32_t matrix,
                      const Dataflow& flow) {
  constexpr int64_t kFewSteps = 8;
  const StmtId statement = nest.statements.front();
  const std::vector<LoopId> path = poly::path_of(schedule.order, statement);
  if (path.front() == nest.loops.front())
    return false;
  const std::vector<StmtId> steps = poly::statements_below(schedule.order, path.front());
  const auto& writers = flow[matrix].writers;
  if (std::any_of(writers.begin(), writers.end(), [&](StmtId writer) {
        return std::find(steps.begin(), steps.end(), writer) != steps.end();
      }))
    return false;
  const AccessTable accesses = access_table(schedule.scop, schedule.order, statement);
  int64_t count = 1;
  for (size_t k = 0; path[k] != nest.loops.front(); ++k) {
    const auto run = known_run(schedule.scop, schedule.order, path[k]);
    const bool stays = std::all_of(accesses.begin(), accesses.end(), [&](const LoopAccess& access) {
      return access.tensor != matrix || access.stays(k);
    });
    if (!stays || !run)
      return false;
    count = std::min(count * *run, int64_t{1} << 30);
  }
  return count >= kFewSteps;
}

/// Vectors of rows that are added up side by side: as many as hide the latency of an addition, with
/// the fewest beyond the last row, and panels for all threads.
int64_t vectors_of_panel(int64_t rows, int64_t lanes, const target::Cpu& cpu, bool is_parallel) {
  constexpr int64_t kMost = 11, kMostOfFewRegisters = 8;
  const int64_t most = cpu.vector_registers >= 32 ? kMost : kMostOfFewRegisters;
  const int64_t vectors = (rows + lanes - 1) / lanes;
  const int64_t threads = is_parallel ? std::max<int64_t>(cpu.cores, 1) : 1;
  const int64_t share = std::clamp((vectors + threads - 1) / threads, kPanelVectors, most);
  const auto walked = [&](int64_t panel) { return (vectors + panel - 1) / panel * panel; };
  int64_t best = std::min(share, vectors);
  for (int64_t panel = best - 1; panel >= kPanelVectors; --panel)
    if (walked(panel) < walked(best))
      best = panel;
  return best;
}

std::optional<MatrixByVector> kept_matrix_by_vector(const Schedule& schedule, const Nest& nest,
                                                    const NestFacts& facts,
                                                    const target::Cpu& cpu) {
  if (nest.statements.size() != 1 || facts.fixed != 0 || depends_on_data(schedule.scop))
    return std::nullopt;
  const program::Statement& text = schedule.scop[nest.statements.front()].text;
  const scalar::Elem elem = scalar::compute_type(schedule.scop.tensors[text.tensor].elem);
  auto product = text.op == scalar::ReduceOp::Sum ? matrix_by_vector(facts) : std::nullopt;
  if (!product || !scalar::is_float(elem) || schedule.scop.tensors[product->matrix].elem != elem)
    return std::nullopt;
  const int64_t rows = facts.extents[product->rows], depth = facts.extents[product->depth];
  const int64_t lanes = target::vector_lanes(cpu, scalar::bytes_of(elem));
  // Beyond the L2 the matrix comes as fast in rows, and the copy takes memory.
  const int64_t room = cpu.caches.l2 * std::max<int64_t>(1, cpu.cores);
  const Dataflow flow(schedule.scop);
  const bool is_kept =
      flow[product->matrix].keeps_values || is_used_in_steps(schedule, nest, product->matrix, flow);
  return is_kept && rows >= kPanelVectors * lanes && rows * depth * scalar::bytes_of(elem) <= room
             ? product
             : std::nullopt;
}

} // namespace

void rows_of_a_kept_matrix(const Site& site, const Offer& offer) {
  const Schedule& schedule = site.schedule();
  const Nest& nest = *site.nest();
  const NestFacts& facts = site.facts();
  const target::Cpu& cpu = site.environment().cpu;
  const auto product = kept_matrix_by_vector(schedule, nest, facts, cpu);
  if (!product)
    return;
  const program::Tensor& matrix = schedule.scop.tensors[product->matrix];
  const std::string& statement = schedule.scop[nest.statements.front()].text.name;
  const int64_t rows = facts.extents[product->rows], depth = facts.extents[product->depth];
  const int64_t lanes = target::vector_lanes(cpu, scalar::bytes_of(matrix.elem));
  const bool is_parallel = site.may_be_parallel() && rows * depth >= kDotThreads;
  const auto name = [&](size_t k, const char* part = "") {
    return LoopName{statement, schedule.order[nest.loops[k]].name + part};
  };
  Reorder order;
  for (const size_t k : product->single)
    order.loops.push_back(name(k));
  order.loops.insert(order.loops.end(),
                     {name(product->rows, ".0"), name(product->depth), name(product->rows, ".1")});
  const std::string copy = "S" + std::to_string(schedule.scop.statements.size());
  const std::string elements = name(product->rows, ".1").loop, steps = name(product->depth).loop;
  std::vector<Directive> plan{
      Split{name(product->rows), lanes * vectors_of_panel(rows, lanes, cpu, is_parallel)},
      std::move(order),
      Pack{matrix.name,
           std::nullopt,
           {},
           reader_if_several(schedule.scop, product->matrix, nest.statements.front())},
      Vectorize{name(product->rows, ".1"), lanes},
      Unroll{name(product->rows, ".1"), std::nullopt},
      Unroll{name(product->depth), 4},
      Vectorize{{copy, elements}, lanes},
      Unroll{{copy, elements}, std::nullopt}};
  if (depth >= lanes)
    plan.emplace_back(Unroll{{copy, steps}, lanes});
  if (is_parallel)
    plan.emplace_back(Parallel{name(product->rows, ".0")});
  offer({"rows of a kept matrix", nest.statements, std::move(plan)});
}

bool hides_rows_of_a_kept_matrix(const Schedule& schedule, LoopId loop,
                                 const Environment& environment) {
  const std::vector<StmtId> inside = poly::statements_below(schedule.order, loop);
  const auto may_be = [&](StmtId id) {
    return schedule.scop[id].text.op == scalar::ReduceOp::Sum &&
           access_table(schedule.scop, schedule.order, id).size() == 3;
  };
  if (inside.size() < 2 || std::none_of(inside.begin(), inside.end(), may_be))
    return false;
  Schedule apart = schedule;
  const std::vector<LoopId> parts = distribute_all(apart, loop);
  return std::any_of(parts.begin(), parts.end(), [&](LoopId part) {
    const auto nest = perfect_nest_at(apart.order, part);
    return nest && nest->statements.size() == 1 && may_be(nest->statements.front()) &&
           kept_matrix_by_vector(apart, *nest, facts_of(apart, *nest), environment.cpu);
  });
}

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
  std::vector<Directive> plan{
      std::move(order),
      Pack{schedule.scop.tensors[dots->right].name,
           std::nullopt,
           {},
           reader_if_several(schedule.scop, dots->right, nest.statements.front())},
      Vectorize{name(dots->depth), lanes}};
  if (site.may_be_parallel() && rows * columns * depth >= kDotThreads)
    plan.emplace_back(Parallel{outermost});
  offer({"dot products", nest.statements, std::move(plan)});
}

} // namespace kawara::schedule
