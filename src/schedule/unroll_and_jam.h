#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Unroll an outer loop and fuse the copies of its body: `unroll_and_jam(i, 4)`.
Proposed propose(const Schedule&, const UnrollAndJam&, const Environment&);

} // namespace kawara::schedule
