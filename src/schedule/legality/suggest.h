#pragma once

#include "schedule/schedule.h"

#include <string>
#include <vector>

namespace kawara::schedule {

/// Something to ask for instead of a refused directive.
struct Alternative {
  std::string intro; ///< "skew first"
  std::vector<Directive> directives;
};

/// What might work instead, most likely first; nothing of it has been tried.
std::vector<Alternative> candidates(const Schedule&, const Refusal&, const Environment&);

/// The first three candidates that are legal, each applied to `schedule` to find out.
std::vector<Alternative> checked_alternatives(const Schedule& schedule, const Refusal&,
                                              const Environment&);

} // namespace kawara::schedule
