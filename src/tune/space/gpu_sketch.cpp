#include "tune/space/gpu_sketch.h"

#include "schedule/auto/gpu_schedule.h"
#include "tune/space/structure.h"

#include <algorithm>
#include <array>

namespace kawara::tune {
namespace {

using namespace schedule;

using List = std::vector<Directive>;

/// Multiprocessors, as multiples of what there are.
constexpr std::array kOtherSizes = {0.25, 0.5, 2.0, 4.0};

/// All directives, without the groups that they were proved in.
List flattened(const std::vector<Directive>& applied) {
  List steps;
  for (const Directive& directive : applied)
    if (const auto* group = std::get_if<Group>(&directive))
      steps.insert(steps.end(), group->members.begin(), group->members.end());
    else
      steps.push_back(directive);
  return steps;
}

/// The default binds what it has found to be parallel, and then it is called so no more.
List without_parallel(List steps) {
  std::erase_if(steps, [](const Directive& d) { return std::holds_alternative<Parallel>(d); });
  return steps;
}

List joined(List first, const List& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// A list that leads from the source to a schedule, if there is one: the default may begin by
/// taking nests apart.
List list_to(const Schedule& whole, const Schedule& initial, const Environment& environment) {
  const List steps = flattened(whole.applied), bound = without_parallel(steps),
             apart = separations(initial);
  const auto names = poly::names_of_statements(whole.scop);
  for (const List& list : {steps, joined(apart, steps), bound, joined(apart, bound)}) {
    const auto again = apply(initial, Group{list}, environment);
    if (again && again->scop.statements.size() == whole.scop.statements.size() &&
        poly::print(again->order, names) == poly::print(whole.order, names))
      return list;
  }
  return {Auto{}};
}

} // namespace

List gpu_steps(const Schedule& initial, const Environment& environment) {
  const Schedule plain{initial.scop, initial.order, {}};
  return list_to(gpu_schedule(plain, environment), initial, environment);
}

std::vector<List> steps_of_other_gpus(const Schedule& initial, const Environment& environment) {
  std::vector<Environment> others;
  for (const double factor : kOtherSizes) {
    others.push_back(environment);
    int64_t& count = others.back().gpu->multiprocessors;
    count = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(count) * factor));
  }
  others.push_back(environment);
  others.back().gpu->shared_per_block /= 2;
  std::vector<List> lists;
  for (const Environment& other : others)
    if (List steps = gpu_steps(initial, other); !(steps == List{Auto{}}))
      lists.push_back(std::move(steps));
  return lists;
}

} // namespace kawara::tune
