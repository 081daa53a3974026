#pragma once

#include "schedule/schedule.h"

namespace kawara::schedule {

/// Vector instructions, roughly, that one statement takes over all its iterations with so many lanes: functions that are
/// spelled out count by their length.
double steps_of(const Schedule&, poly::StmtId, int64_t iterations, int64_t lanes);

/// Whether that many steps are worth starting threads, which takes some microseconds.
bool is_worth_threads(double steps);

/// Whether all that runs below the loop is.
bool is_worth_threads(const Schedule&, poly::LoopId loop, const Environment&);

} // namespace kawara::schedule
