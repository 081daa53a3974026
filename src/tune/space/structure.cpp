#include "tune/space/structure.h"

#include "schedule/tree/resolve.h"

#include <set>

namespace kawara::tune {
namespace {

using namespace schedule;
using poly::LoopId;
using poly::TreeNode;

/// The first steps of `auto`: those that only say which statements share loops.
std::vector<Directive> structural_steps(const std::vector<Directive>& steps) {
  std::vector<Directive> kept;
  for (const Directive& step : steps) {
    if (!std::holds_alternative<Distribute>(step) && !std::holds_alternative<Fuse>(step) &&
        !std::holds_alternative<StoreAt>(step) && !std::holds_alternative<StoreIn>(step) &&
        !std::holds_alternative<Inline>(step))
      break;
    kept.push_back(step);
  }
  return kept;
}

/// Applies what is accepted, one by one; what is refused is left out.
std::vector<Directive> accepted(const Schedule& initial, const std::vector<Directive>& list,
                                const Environment& environment) {
  Schedule at = initial;
  std::vector<Directive> kept;
  for (const Directive& directive : list)
    if (auto next = apply(at, directive, environment)) {
      at = *std::move(next);
      kept.push_back(directive);
    }
  return kept;
}

std::vector<Directive> inlinings(const Schedule& initial) {
  std::vector<Directive> list;
  for (const poly::ScopStatement& statement : initial.scop.statements)
    if (statement.text.op == scalar::ReduceOp::None &&
        initial.scop.tensors[statement.text.tensor].role == program::Role::Temp)
      list.push_back(Inline{statement.text.name});
  return list;
}

LoopName qualified(const Schedule& schedule, LoopId loop) {
  const auto below = poly::statements_below(schedule.order, loop);
  return {schedule.scop[below.front()].text.name, schedule.order[loop].name};
}

bool may_be_parallel(const Schedule& schedule, LoopId loop, const Environment& environment) {
  Schedule marked = schedule;
  marked.order[loop].marks.is_parallel = true;
  return std::holds_alternative<poly::Legal>(
      poly::judge(marked.scop, marked.order, environment.quota));
}

void find_nests(Structure& structure, const TreeNode& node, bool is_outermost,
                const Environment& environment) {
  if (!node.is_loop())
    return;
  if (auto nest = perfect_nest_at(structure.schedule.order, node.loop())) {
    NestFacts facts = facts_of(structure.schedule, *nest);
    structure.nests.push_back({*std::move(nest), std::move(facts), is_outermost});
    return;
  }
  if (is_outermost && may_be_parallel(structure.schedule, node.loop(), environment))
    structure.spread.push_back(qualified(structure.schedule, node.loop()));
  for (const TreeNode& child : node.body)
    find_nests(structure, child, false, environment);
}

} // namespace

std::vector<Directive> separations(const Schedule& initial) {
  std::vector<Directive> list;
  for (const TreeNode& node : initial.order.body)
    if (node.is_loop() && poly::statements_below(node).size() > 1)
      list.push_back(Distribute{name_of_loop(initial.scop, initial.order, node.loop())});
  return list;
}

std::vector<Structure> structures_of(const Schedule& initial, const std::vector<Directive>& steps,
                                     const Environment& environment) {
  std::vector<std::vector<Directive>> lists{{}};
  lists.push_back(accepted(initial, separations(initial), environment));
  lists.push_back(structural_steps(steps));
  lists.push_back(accepted(initial, inlinings(initial), environment));
  std::vector<Structure> structures;
  std::set<std::string> seen;
  for (std::vector<Directive>& list : lists) {
    if (!seen.insert(print(list)).second)
      continue;
    auto schedule = apply(initial, Group{list}, environment);
    if (!schedule)
      continue;
    Structure structure{std::move(list), *std::move(schedule), {}, {}};
    const std::vector<TreeNode> body = structure.schedule.order.body;
    for (const TreeNode& node : body)
      find_nests(structure, node, true, environment);
    structures.push_back(std::move(structure));
  }
  return structures;
}

LoopName name_in(const Structure& structure, const KnownNest& nest, size_t position) {
  return {structure.schedule.scop[nest.nest.statements.front()].text.name,
          structure.schedule.order[nest.nest.loops[position]].name};
}

} // namespace kawara::tune
