#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Move a producer inside a consumer's loop: `compute_at(S0, S1.i)`.
Proposed propose(const Schedule&, const ComputeAt&, const Environment&);

} // namespace kawara::schedule
