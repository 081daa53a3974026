#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Run a loop backwards: `reverse(i)`.
///
///   before   for i in lo..hi:           S(i)
///   after    for i in -hi..-lo:         S(-i)
///
/// Needs    nothing of the nest.
/// Legal    when the loop carries no dependence.
/// Refuses  vector or unrolled loops (K0217).
Proposed propose(const Schedule&, const Reverse&, const Environment&);

} // namespace kawara::schedule
