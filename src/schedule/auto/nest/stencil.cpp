#include "schedule/auto/nest/stencil.h"

#include "scalar/expand/expansion.h"
#include "schedule/auto/cost/parallel_worth.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

/// A reduction of at most this many steps is spelled out: a window of a convolution or a stencil.
constexpr int64_t kMostSteps = 64;
/// Neighbouring results that are worth a vector, if not a full one, and vectors that are worth
/// spelling out.
constexpr int64_t kShortestRow = 4, kShortRow = 8;

/// Results of a window that are added up at the same time, in vectors: with those, weights and
/// elements fit the registers. More of a large window, whose work hides that results go to as many
/// lines; fewer where vectors are but parts of lines.
constexpr int64_t kManySteps = 16, kMostWindowSums = 12, kUsualSums = 8, kFewSums = 4,
                  kLineBytes = 64;
constexpr int64_t kFloat = 4;

/// Steps at a time of a long sum of products: spelled out whole, LLVM takes its left elements as
/// vectors and shuffles them into all lanes. Columns that are worth a tile of their own although
/// they fill no vector, if their sums have at most so many steps for each: sums in lanes cost that
/// much to be added up (docs/notes/short_sums.md).
constexpr int64_t kStepsOfLongSum = 4;
constexpr int64_t kFewestColumns = 2, kStepsOfColumn = 24;

/// The directives of one statement in the loops of the window's results; the last of `loops` are
/// the lanes.
struct ResultLoops {
  std::string statement;
  std::vector<std::string> loops;
  std::optional<size_t> rows; ///< the loop of which several iterations go together
  LoopName name(size_t k, const char* suffix = "") const { return {statement, loops[k] + suffix}; }
  LoopName lanes(const char* suffix) const { return name(loops.size() - 1, suffix); }
  /// The loops that are shared, the blocks of lanes innermost.
  std::vector<LoopName> shared() const {
    std::vector<LoopName> names;
    for (size_t k = 0; k + 1 < loops.size(); ++k)
      names.push_back(name(k, rows == k ? ".0" : ""));
    names.push_back(lanes(".0"));
    return names;
  }
  /// The results that go together.
  std::vector<LoopName> inside() const {
    std::vector<LoopName> names{lanes(".1")};
    if (rows)
      names.insert(names.begin(), name(*rows, ".1"));
    return names;
  }
};

void cut_results(std::vector<Directive>& plan, const ResultLoops& own, const SmallWindow& window) {
  if (own.rows)
    plan.emplace_back(Split{own.name(*own.rows), window.height});
  plan.emplace_back(Split{own.lanes(""), window.width});
}

void add_lanes(std::vector<Directive>& plan, const ResultLoops& own, int64_t vector) {
  if (own.rows)
    plan.emplace_back(Unroll{own.name(*own.rows, ".1"), std::nullopt});
  plan.emplace_back(Vectorize{own.lanes(".1"), vector});
  plan.emplace_back(Unroll{own.lanes(".1"), std::nullopt});
}

/// The innermost outer loop along which some load stays that moves with the lanes: weights of
/// single channels in lanes, an image for several filters.
std::optional<size_t> rows_of(const AccessTable& accesses, const SmallWindow& window) {
  for (size_t at = window.outer.size(); at-- > 0;)
    for (const LoopAccess& access : accesses) {
      const Move along_lanes = access.moves[window.lanes];
      if (!access.is_write && access.stays(window.outer[at]) &&
          (along_lanes == Move::Unit || (window.rolled > 0 && along_lanes == Move::Far)))
        return at;
    }
  return std::nullopt;
}

/// Whether the nest multiplies rows by columns, these in lanes: one load stays along the lanes, the
/// other one moves along them and stays where the first one moves.
bool has_columns(const NestFacts& facts, size_t lanes) {
  if (facts.accesses.size() != 3)
    return false;
  const LoopAccess &a = facts.accesses[1], &b = facts.accesses[2];
  const LoopAccess &left = a.stays(lanes) ? a : b, &right = a.stays(lanes) ? b : a;
  if (!left.stays(lanes) || right.moves[lanes] != Move::Unit)
    return false;
  for (size_t k = 0; k < facts.extents.size(); ++k)
    if (!facts.accesses.front().stays(k) && k != lanes && (left.stays(k) || !right.stays(k)))
      return false;
  return true;
}

/// Several rows go together, evenly, as many as there are registers for.
void take_rows(const Schedule& schedule, SmallWindow& window, const NestFacts& facts,
               int64_t steps) {
  const auto rows = rows_of(facts.accesses, window);
  if (!rows || !facts.is_parallel[window.outer[*rows]])
    return;
  const int64_t row = facts.extents[window.lanes], vector = window.vector;
  const int64_t count = facts.extents[window.outer[*rows]];
  const scalar::Elem elem = schedule.scop.tensors[schedule.scop[window.update()].text.tensor].elem;
  const int64_t usual = vector * scalar::bytes_of(elem) >= kLineBytes ? kUsualSums : kFewSums;
  const int64_t sums = steps >= kManySteps ? kMostWindowSums : usual;
  window.width = row % (2 * vector) == 0 && count < sums ? 2 * vector : vector;
  if (row <= 2 * vector) // taken whole, as it is alone
    window.width = row;
  const int64_t most = std::max<int64_t>(1, sums / ((window.width + vector - 1) / vector));
  const int64_t parts = (count + most - 1) / most;
  window.height = (count + parts - 1) / parts;
  if (window.height > 1)
    window.rows = rows;
}

} // namespace

std::optional<size_t> window_lanes(const Schedule& schedule, const Nest& nest,
                                   const NestFacts& facts, std::optional<size_t> best,
                                   const target::Cpu& cpu) {
  const int64_t lanes = target::vector_lanes(cpu, widest_bytes(schedule, nest));
  if (!best || !facts.strides[*best].writes_same_element || facts.extents[*best] >= lanes ||
      cpu.vector_bytes < cpu.caches.line)
    return best;
  for (size_t k = 0; k < nest.loops.size(); ++k)
    if (facts.is_parallel[k] && facts.accesses.front().moves[k] == Move::Unit)
      return k;
  return best;
}

std::optional<size_t> lanes_of_few_columns(const Schedule& schedule, const Nest& nest,
                                           const NestFacts& facts, const target::Cpu& cpu) {
  if (cpu.vector_bytes < cpu.caches.line || nest.statements.size() != 1 || facts.fixed != 0)
    return std::nullopt;
  int64_t rows = 1, steps = 1;
  std::optional<size_t> lanes;
  for (size_t k = 0; k < nest.loops.size(); ++k) {
    const LoopAccess& result = facts.accesses.front();
    if (facts.is_open[k] || (!result.stays(k) && !facts.is_parallel[k]))
      return std::nullopt;
    if (result.moves[k] == Move::Unit)
      lanes = k;
    else
      (result.stays(k) ? steps : rows) *= std::min(facts.extents[k], kMostSteps + 1);
  }
  const int64_t vector = target::vector_lanes(cpu, widest_bytes(schedule, nest));
  const bool are_few = lanes && facts.extents[*lanes] >= kFewestColumns &&
                       2 * facts.extents[*lanes] < vector && rows >= kShortestRow &&
                       steps <= std::min(kMostSteps, kStepsOfColumn * facts.extents[*lanes]);
  return are_few && has_columns(facts, *lanes) ? lanes : std::nullopt;
}

std::optional<SmallWindow> small_window(const Schedule& schedule, const Nest& nest,
                                        const NestFacts& facts, size_t lanes, int64_t vector,
                                        int64_t cores, bool may_roll) {
  SmallWindow found{nest, {}, lanes, {}, 0, vector, vector, {}, 1};
  for (size_t k = 0; k < nest.loops.size(); ++k)
    if (facts.strides[k].writes_same_element)
      found.window.push_back(k);
    else if (k != lanes)
      found.outer.push_back(k);
  int64_t steps = 1;
  for (size_t at = found.window.size(); at-- > 0;) {
    const int64_t more = std::min(facts.extents[found.window[at]], kMostSteps + 1);
    if (may_roll && steps > 1 && steps * more > kMostSteps) {
      found.rolled = at + 1;
      break;
    }
    steps *= more;
  }
  const int64_t row = facts.extents[lanes];
  if (nest.statements.size() != 1 || facts.fixed != 0 || found.window.empty() ||
      steps > kMostSteps ||
      (found.rolled > 0 && !adds_up(schedule, nest, std::nullopt, {lanes}, found.window)) ||
      facts.strides[lanes].writes_same_element || !facts.is_parallel[lanes] ||
      facts.strides[lanes].far_writes != 0 ||
      (row < kShortestRow && !(row >= kFewestColumns && has_columns(facts, lanes))))
    return std::nullopt;
  if (const auto shared = best_shared_loop(facts, found.outer, cores)) {
    const auto at = std::find(found.outer.begin(), found.outer.end(), *shared);
    std::rotate(found.outer.begin(), at, at + 1);
  }
  while (found.width < 4 * vector && row % (2 * found.width) == 0)
    found.width *= 2;
  // A short row is taken whole: cut, its last part would need questions at run time.
  if (found.width < 4 * vector && row <= kShortRow * vector)
    found.width = row;
  take_rows(schedule, found, facts, steps);
  if (may_roll && found.rows && found.window.size() == 1 && steps > kManySteps &&
      has_columns(facts, lanes))
    found.unrolled = kStepsOfLongSum;
  return found;
}

std::optional<SmallWindow> transposed_window(const Nest& nest, const NestFacts& facts,
                                             int64_t vector, int64_t registers) {
  if (nest.statements.size() != 1 || facts.fixed != 0)
    return std::nullopt;
  std::optional<size_t> lanes, rows;
  std::vector<size_t> outer, window;
  int64_t steps = 1;
  for (size_t k = 0; k < nest.loops.size(); ++k) {
    const Move write = facts.accesses.front().moves[k];
    const bool reads_runs =
        facts.accesses.size() > 1 &&
        std::all_of(facts.accesses.begin() + 1, facts.accesses.end(),
                    [&](const LoopAccess& load) { return load.moves[k] == Move::Unit; });
    if (facts.strides[k].writes_same_element) {
      steps *= std::min(facts.extents[k], kMostSteps + 1);
      window.push_back(k);
    } else if (!facts.is_parallel[k])
      return std::nullopt;
    else if (reads_runs && write == Move::Far && facts.extents[k] % vector == 0)
      lanes = k;
    else if (write == Move::Unit && !reads_runs)
      rows = k;
  }
  if (!lanes || !rows || window.empty() || steps > kMostSteps ||
      facts.extents[*rows] < kShortestRow)
    return std::nullopt;
  for (size_t k = 0; k < nest.loops.size(); ++k)
    if (k != *lanes && !facts.strides[k].writes_same_element)
      outer.push_back(k);
  // Half of the registers hold results, a line of them from each row of the window where vectors
  // are parts of lines.
  const int64_t most = registers / 2;
  const int64_t width =
      vector * kFloat < kLineBytes && facts.extents[*lanes] % (2 * vector) == 0 ? 2 : 1;
  const int64_t parts = (facts.extents[*rows] * width + most - 1) / most;
  const int64_t height = (facts.extents[*rows] + parts - 1) / parts;
  const auto at = static_cast<size_t>(std::find(outer.begin(), outer.end(), *rows) - outer.begin());
  return SmallWindow{nest, outer, *lanes, window, 0, vector, width * vector, at, height};
}

std::optional<FusedNest> fused_nest_of(const Schedule& schedule, const Nest& nest,
                                       const SmallWindow& window) {
  std::vector<size_t> positions = window.outer;
  positions.push_back(window.lanes);
  auto fused_nest = fused_nest_of(schedule, nest, window.nest, positions);
  bool has_functions = false;
  if (fused_nest)
    scalar::visit(schedule.scop[fused_nest->statement].text.value, [&](const scalar::Expr& e) {
      const auto* n = scalar::as<scalar::Unary>(e);
      has_functions =
          has_functions || (n != nullptr && scalar::has_expansion(n->op, scalar::Elem::F32));
    });
  return has_functions ? std::nullopt : fused_nest;
}

std::vector<Directive> window_plan(const Schedule& schedule, const SmallWindow& window,
                                   const std::vector<FusedNest>& before,
                                   const std::vector<FusedNest>& after) {
  const auto loop_name = [&](poly::LoopId loop) { return schedule.order[loop].name; };
  const auto own_name = [&](size_t k) { return loop_name(window.nest.loops[k]); };
  ResultLoops own{schedule.scop[window.update()].text.name, {}, window.rows};
  for (const size_t k : window.outer)
    own.loops.push_back(own_name(k));
  own.loops.push_back(own_name(window.lanes));
  std::vector<Directive> plan;
  cut_results(plan, own, window);
  Reorder order{own.shared()};
  for (const size_t k : window.window)
    order.loops.push_back({own.statement, own_name(k)});
  for (const LoopName& loop : own.inside())
    order.loops.push_back(loop);
  plan.emplace_back(std::move(order));
  for (size_t at = window.rolled; at < window.window.size(); ++at)
    plan.emplace_back(Unroll{{own.statement, own_name(window.window[at])}, window.unrolled});
  for (const auto* list : {&before, &after})
    for (const FusedNest& fused_nest : *list) {
      ResultLoops theirs{schedule.scop[fused_nest.statement].text.name, {}, window.rows};
      for (const poly::LoopId loop : fused_nest.loops)
        theirs.loops.push_back(loop_name(loop));
      cut_results(plan, theirs, window);
      Reorder same{theirs.shared()};
      for (const LoopName& loop : theirs.inside())
        same.loops.push_back(loop);
      plan.emplace_back(std::move(same));
      const std::vector<LoopName> a = own.shared(), b = theirs.shared();
      for (size_t k = 0; k < a.size(); ++k)
        plan.emplace_back(list == &before ? Fuse{b[k], a[k]} : Fuse{a[k], b[k]});
      add_lanes(plan, theirs, window.vector);
    }
  add_lanes(plan, own, window.vector);
  return plan;
}

} // namespace kawara::schedule
