#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Turn a reduction into partial results and a combine: `rfactor(k.0)`.
Proposed propose(const Schedule&, const Rfactor&, const Environment&);

} // namespace kawara::schedule
