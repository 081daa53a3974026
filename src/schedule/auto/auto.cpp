#include "schedule/auto/auto.h"

#include "schedule/auto/nest/isl_orders.h"
#include "schedule/auto/nest/private_temps.h"
#include "schedule/auto/planned.h"
#include "schedule/text/flatten.h"

namespace kawara::schedule {
namespace {

/// Temps, then loops. `applied` holds the directives that lead there, or `auto` where some step has
/// none; `begun` those about temps.
Schedule chosen(const Schedule& schedule, const Environment& environment) {
  const Schedule start = with_own_temps(Schedule{schedule.scop, schedule.order, {}}, environment);
  Schedule whole = planned(Schedule{start.scop, start.order, {}}, environment);
  whole.begun = start.applied;
  if (whole.applied != std::vector<Directive>{Auto{}})
    whole.applied.insert(whole.applied.begin(), whole.begun.begin(), whole.begun.end());
  return whole;
}

} // namespace

Proposed propose(const Schedule& schedule, const Auto&, const Environment& environment) {
  Schedule whole = chosen(schedule, environment);
  return Proposal{std::move(whole.scop), std::move(whole.order), std::move(whole.begun)};
}

std::vector<Directive> spelled_out(const Schedule& schedule, const Environment& environment) {
  const Schedule start{schedule.scop, schedule.order, {}};
  const Schedule whole = chosen(start, environment);
  std::vector<Directive> directives;
  flatten(whole.applied, directives);
  const auto again = apply(start, Group{directives}, environment);
  if (!again || !is_same_order(*again, whole))
    return {Auto{}};
  return directives;
}

} // namespace kawara::schedule
