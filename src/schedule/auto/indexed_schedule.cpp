#include "schedule/auto/indexed_schedule.h"

#include "schedule/auto/facts/data_dependence.h"
#include "schedule/auto/facts/distribution.h"
#include "schedule/auto/rowwise/fuse_rows.h"
#include "schedule/auto/rule/choose.h"
#include "schedule/auto/rules.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

namespace kawara::schedule {

using poly::LoopId;

namespace {

/// Walks the nests of an order in which data say what some iterations touch.
class IndexedPlanner {
public:
  IndexedPlanner(Schedule schedule, const Environment& environment)
      : schedule_(std::move(schedule)), environment_(environment) {}

  Schedule planned() {
    for (const LoopId loop : child_loops(schedule_.order.body))
      if (!perfect_nest_at(schedule_.order, loop) && wants_distribution(schedule_, loop))
        distribute_all(schedule_, loop);
    for (const LoopId loop : child_loops(schedule_.order.body))
      improve(loop, Around::Nothing);
    return std::move(schedule_);
  }

private:
  void improve(LoopId loop, Around around) {
    if (const Site site(schedule_, loop, around, environment_); site.nest()) {
      if (auto choice = choose(site, cpu_rules(), Phase::Nests, nullptr))
        schedule_ = std::move(choice->schedule);
      return;
    }
    const bool is_parallel = around != Around::Threads &&
                             go({Parallel{name_of_loop(schedule_.scop, schedule_.order, loop)}});
    if (const auto stores = private_temps(schedule_, loop); !stores.empty())
      go(stores);
    for (const LoopId child : child_loops(poly::find_node(schedule_.order, loop)->body))
      improve(child, is_parallel ? Around::Threads : around);
  }

  bool go(const std::vector<Directive>& plan) { return apply_all(schedule_, plan, environment_); }

  Schedule schedule_;
  const Environment& environment_;
};

} // namespace

std::optional<Schedule> indexed_schedule(const Schedule& schedule, const Environment& environment) {
  if (!depends_on_data(schedule.scop))
    return std::nullopt;
  Schedule whole =
      IndexedPlanner(Schedule{schedule.scop, schedule.order, {}}, environment).planned();
  return is_legal(whole, environment) ? std::move(whole) : schedule;
}

} // namespace kawara::schedule
