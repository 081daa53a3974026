#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Generate full tiles apart from partial ones: `isolate(i.1)`.
///
///   before   for i.0: for i.1 in 0..min(31, hi - 32*i.0):      S
///   after    for i.0 of the full tiles: for i.1 in 0..31:      S
///            for the last i.0: for i.1 in 0..hi % 32:          S
///
/// `tile` sets this mark on all its point loops.
///
/// Needs    a point loop that split or tile made.
/// Legal    always (iterations keep their order).
/// Refuses  any other loop (K0216).
Proposed propose(const Schedule&, const Isolate&, const Environment&);

} // namespace kawara::schedule
