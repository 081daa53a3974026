#pragma once

#include "schedule/schedule.h"

namespace kawara::schedule {

/// What `auto` makes of the loops of a schedule whose temps are where they shall be. `applied`
/// holds the directives that lead there, or `auto` where some step has none.
Schedule planned(const Schedule&, const Environment&);

} // namespace kawara::schedule
