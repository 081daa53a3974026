#pragma once

#include "schedule/schedule.h"

namespace kawara::schedule {

/// What directives would make, without asking the judge: for estimates, and for steps that are
/// proved together afterwards. Nothing may be run in this order. Refuses what the shape of the
/// loops makes impossible.
Result<Schedule, Refusal> unproved(const Schedule&, const std::vector<Directive>&,
                                   const Environment&);

} // namespace kawara::schedule
