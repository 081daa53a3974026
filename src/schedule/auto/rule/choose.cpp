#include "schedule/auto/rule/choose.h"

#include "schedule/attempt.h"

namespace kawara::schedule {
namespace {

/// What the candidate's plan makes; nothing where it is refused.
std::optional<Schedule> planned_by(const Site& site, const Candidate& candidate) {
  Schedule made = candidate.start ? *candidate.start : site.schedule();
  const bool holds = candidate.plan.empty() || attempt(made, candidate.plan, site.environment(),
                                                       candidate.rule, candidate.covers);
  return holds ? std::optional(std::move(made)) : std::nullopt;
}

} // namespace

std::optional<Choice> choose(const Site& site, std::span<const Rule> rules, Phase phase,
                             const Planner& planner) {
  const bool lists_all = site.environment().notes != nullptr;
  std::optional<Choice> taken;
  const Offer offer = [&](const Candidate& candidate) {
    auto made = planned_by(site, candidate);
    if (made && !taken && (!candidate.finish || candidate.finish(*made, planner)))
      taken = Choice{*std::move(made), candidate.covers};
    return taken && !lists_all;
  };
  for (const Rule& rule : rules)
    if (rule.phase == phase && (!taken || lists_all))
      rule.candidates(site, offer);
  return taken;
}

bool is_legal(const Schedule& schedule, const Environment& environment) {
  return std::holds_alternative<poly::Legal>(
      poly::judge(schedule.scop, schedule.order, environment.quota));
}

bool apply_all(Schedule& schedule, const std::vector<Directive>& plan,
               const Environment& environment) {
  auto result = apply(schedule, Group{plan}, environment);
  if (result)
    schedule = *std::move(result);
  return static_cast<bool>(result);
}

} // namespace kawara::schedule
