#include "schedule/attempt.h"

namespace kawara::schedule {

bool attempt(Schedule& schedule, const std::vector<Directive>& plan, const Environment& environment,
             const std::string& rule, const std::vector<poly::StmtId>& statements) {
  auto result = apply(schedule, Group{plan}, environment);
  if (environment.notes != nullptr) {
    Attempt note{rule, statements, plan, schedule, std::nullopt, std::nullopt};
    if (result)
      note.made = *result;
    else
      note.refusal = result.error();
    environment.notes->push_back(std::move(note));
  }
  if (!result)
    return false;
  schedule = *std::move(result);
  return true;
}

} // namespace kawara::schedule
