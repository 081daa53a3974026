#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Run the iterations of a loop on several threads: `parallel(i)`.
///
///   before   for i:                S(i)
///   after    parallel for i:       S(i)
///
/// Needs    nothing of the nest.
/// Legal    when the loop carries no dependence at all, a reduction's neither (`rfactor` is the
///          way out).
/// Refuses  a vector loop (K0217).
Proposed propose(const Schedule&, const Parallel&, const Environment&);

} // namespace kawara::schedule
