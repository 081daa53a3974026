#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Put a statement's value in the place of each read of it: `inline(S0)`.
Proposed propose(const Schedule&, const Inline&, const Environment&);

} // namespace kawara::schedule
