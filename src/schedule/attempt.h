#pragma once

#include "schedule/schedule.h"

#include <string>
#include <vector>

namespace kawara::schedule {

/// A plan that `auto` considered for the loops of some statements, and what came of it.
struct Attempt {
  std::string rule; ///< "packed product", "lanes"
  std::vector<poly::StmtId>
      statements; ///< that it is for; later ones of `made` are copies that the plan makes
  std::vector<Directive> plan;
  Schedule before;
  std::optional<Schedule> made;   ///< none: refused
  std::optional<Refusal> refusal; ///< of `plan`, applied to `before`
};

/// Applies the plan as a group: all of it or nothing. With notes in the environment, the attempt is
/// written down under the name of its rule. Returns whether it was applied.
bool attempt(Schedule&, const std::vector<Directive>& plan, const Environment&,
             const std::string& rule, const std::vector<poly::StmtId>& statements);

} // namespace kawara::schedule
