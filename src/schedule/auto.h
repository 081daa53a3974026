#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// A complete schedule from the scheduler and the machine's caches: `auto`.
Proposed propose(const Schedule&, const Auto&, const Environment&);

} // namespace kawara::schedule
