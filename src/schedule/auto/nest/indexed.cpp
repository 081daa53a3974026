#include "schedule/auto/nest/indexed.h"

#include "schedule/attempt.h"
#include "schedule/auto/facts/distribution.h"
#include "schedule/auto/nest/any_nest.h"
#include "schedule/auto/rowwise/fuse_rows.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;

namespace {

class IndexedPlanner {
public:
  IndexedPlanner(Schedule schedule, const Environment& environment)
      : schedule_(std::move(schedule)), environment_(environment) {}

  Schedule planned() {
    for (const LoopId loop : child_loops(schedule_.order.body))
      if (!perfect_nest_at(schedule_.order, loop) && wants_distribution(schedule_, loop))
        distribute_all(schedule_, loop);
    for (const LoopId loop : child_loops(schedule_.order.body))
      improve(loop, true);
    return std::move(schedule_);
  }

private:
  void improve(LoopId loop, bool may_be_parallel) {
    if (const auto nest = perfect_nest_at(schedule_.order, loop)) {
      const NestFacts facts = facts_of(schedule_, *nest);
      for (const auto& plan : plans_for(schedule_, *nest, facts, environment_, may_be_parallel))
        if (attempt(schedule_, plan.directives, environment_, plan.rule, nest->statements))
          return;
      return;
    }
    const bool is_parallel =
        may_be_parallel && go({Parallel{name_of_loop(schedule_.scop, schedule_.order, loop)}});
    if (const auto stores = private_temps(schedule_, loop); !stores.empty())
      go(stores);
    for (const LoopId child : child_loops(poly::find_node(schedule_.order, loop)->body))
      improve(child, may_be_parallel && !is_parallel);
  }

  bool go(const std::vector<Directive>& plan) {
    auto result = apply(schedule_, Group{plan}, environment_);
    if (result)
      schedule_ = *std::move(result);
    return static_cast<bool>(result);
  }

  Schedule schedule_;
  const Environment& environment_;
};

} // namespace

bool depends_on_data(const Schedule& schedule, const Nest& nest) {
  return std::any_of(nest.statements.begin(), nest.statements.end(), [&](poly::StmtId id) {
    return program::depends_on_data(schedule.scop[id].text);
  });
}

bool depends_on_data(const poly::Scop& scop) {
  return std::any_of(scop.statements.begin(), scop.statements.end(),
                     [](const poly::ScopStatement& s) {
                       return !s.is_removed && program::depends_on_data(s.text);
                     });
}

bool is_legal(const Schedule& schedule, const Environment& environment) {
  return std::holds_alternative<poly::Legal>(
      poly::judge(schedule.scop, schedule.order, environment.quota));
}

std::optional<Schedule> indexed_schedule(const Schedule& schedule, const Environment& environment) {
  if (!depends_on_data(schedule.scop))
    return std::nullopt;
  Schedule whole =
      IndexedPlanner(Schedule{schedule.scop, schedule.order, {}}, environment).planned();
  return is_legal(whole, environment) ? std::move(whole) : schedule;
}

} // namespace kawara::schedule
