#include "schedule/auto_window_plan.h"

#include "scalar/expansion.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

/// A reduction of at most this many steps is spelled out: a window of a convolution or a stencil.
constexpr int64_t kMostSteps = 64;
/// Neighbouring results that are worth a vector, if not a full one, and vectors that are worth spelling out.
constexpr int64_t kShortestRow = 4, kShortRow = 8;

/// The directives of one statement in the loops of the window's results; the last of `loops` are the lanes.
struct ResultLoops {
  std::string statement;
  std::vector<std::string> loops;
  LoopName name(size_t k) const { return {statement, loops[k]}; }
  LoopName lanes(const char* suffix) const { return {statement, loops.back() + suffix}; }
  /// The loops that are shared, the blocks of lanes innermost.
  std::vector<LoopName> shared() const {
    std::vector<LoopName> names;
    for (size_t k = 0; k + 1 < loops.size(); ++k)
      names.push_back(name(k));
    names.push_back(lanes(".0"));
    return names;
  }
};

void add_lanes(std::vector<Directive>& plan, const ResultLoops& own, int64_t vector) {
  plan.emplace_back(Vectorize{own.lanes(".1"), vector});
  plan.emplace_back(Unroll{own.lanes(".1"), std::nullopt});
}

} // namespace

std::optional<SmallWindow> small_window(const Nest& nest, const NestFacts& facts, size_t lanes,
                                        int64_t vector) {
  SmallWindow found{nest, {}, lanes, {}, vector, vector};
  int64_t steps = 1;
  for (size_t k = 0; k < nest.loops.size(); ++k)
    if (facts.strides[k].writes_same_cell) {
      steps *= std::min(facts.extents[k], kMostSteps + 1);
      found.window.push_back(k);
    } else if (k != lanes)
      found.outer.push_back(k);
  const int64_t row = facts.extents[lanes];
  if (nest.statements.size() != 1 || facts.fixed != 0 || found.window.empty() ||
      steps > kMostSteps || facts.strides[lanes].writes_same_cell || !facts.is_parallel[lanes] ||
      facts.strides[lanes].far_writes != 0 || row < kShortestRow)
    return std::nullopt;
  while (found.width < 4 * vector && row % (2 * found.width) == 0)
    found.width *= 2;
  // A short row is taken whole: cut, its last part would need questions at run time.
  if (found.width < 4 * vector && row <= kShortRow * vector)
    found.width = row;
  return found;
}

std::optional<Companion> companion_of(const Schedule& schedule, const Nest& nest,
                                      const SmallWindow& window) {
  std::vector<size_t> positions = window.outer;
  positions.push_back(window.lanes);
  auto companion = companion_of(schedule, nest, window.nest, positions);
  bool has_functions = false;
  if (companion)
    scalar::visit(schedule.scop[companion->statement].text.value, [&](const scalar::Expr& e) {
      const auto* n = scalar::as<scalar::Unary>(e);
      has_functions =
          has_functions || (n != nullptr && scalar::has_expansion(n->op, scalar::Elem::F32));
    });
  return has_functions ? std::nullopt : companion;
}

std::vector<Directive> window_plan(const Schedule& schedule, const SmallWindow& window,
                                   const std::vector<Companion>& before,
                                   const std::vector<Companion>& after) {
  const auto loop_name = [&](poly::LoopId loop) { return schedule.order[loop].name; };
  const auto own_name = [&](size_t k) { return loop_name(window.nest.loops[k]); };
  ResultLoops own{schedule.scop[window.update()].text.name, {}};
  for (const size_t k : window.outer)
    own.loops.push_back(own_name(k));
  own.loops.push_back(own_name(window.lanes));
  std::vector<Directive> plan{Split{own.name(own.loops.size() - 1), window.width}};
  Reorder order{own.shared()};
  for (const size_t k : window.window)
    order.loops.push_back({own.statement, own_name(k)});
  order.loops.push_back(own.lanes(".1"));
  plan.emplace_back(std::move(order));
  for (const size_t k : window.window)
    plan.emplace_back(Unroll{{own.statement, own_name(k)}, std::nullopt});
  for (const auto* list : {&before, &after})
    for (const Companion& companion : *list) {
      ResultLoops theirs{schedule.scop[companion.statement].text.name, {}};
      for (const poly::LoopId loop : companion.loops)
        theirs.loops.push_back(loop_name(loop));
      plan.emplace_back(Split{theirs.name(theirs.loops.size() - 1), window.width});
      Reorder same{theirs.shared()};
      same.loops.push_back(theirs.lanes(".1"));
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
