#pragma once

#include "schedule/schedule.h"

namespace kawara::schedule {

/// A rough figure for the time that an order takes, only good for comparing orders of one program:
/// instructions, weighed by how the innermost loop walks memory, shared by the threads, plus the
/// bytes that every top nest must bring in.
double estimated_cost(const Schedule&, const Environment&);

} // namespace kawara::schedule
