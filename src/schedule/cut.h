#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Split the index set of a loop at a value: `cut(i, 8)` gives i.lo and i.hi.
Proposed propose(const Schedule&, const Cut&, const Environment&);

} // namespace kawara::schedule
