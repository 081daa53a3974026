#pragma once

#include "schedule/auto/rule/rule.h"

#include <span>

namespace kawara::schedule {

/// What was taken of a site's candidates.
struct Choice {
  Schedule schedule;
  std::vector<poly::StmtId> covers;
};

/// The first candidate that the judge accepts, of the rules of one phase in the order of the table;
/// nothing where there is none. The planner takes what the candidate leaves to be planned inside.
/// With notes in the environment all candidates of these rules are tried and written down; the one
/// that is taken is the same.
std::optional<Choice> choose(const Site&, std::span<const Rule>, Phase, const Planner&);

/// What the judge says.
bool is_legal(const Schedule&, const Environment&);

/// All of these directives or none. Returns whether they were applied.
bool apply_all(Schedule&, const std::vector<Directive>&, const Environment&);

} // namespace kawara::schedule
