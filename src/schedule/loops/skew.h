#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Shift a loop by a multiple of another of its nest: `skew(i, by=t, factor=1)`.
///
///   before   for t: for i in lo..hi:                S(t, i)
///   after    for t: for i in lo+f*t..hi+f*t:        S(t, i - f*t)
///
/// Needs    `by` around `loop`, or inside it with nothing else between the two.
/// Legal    always for an outer `by` (iterations keep their order); useful because it makes
///          other directives legal. For an inner `by` the judge decides.
/// Refuses  factor 0 (K0212), loops not nested (K0211), something between `loop` and an inner
///          `by` (K0210), one loop twice (K0220), vector, unrolled or coalesced loops (K0217).
Proposed propose(const Schedule&, const Skew&, const Environment&);

} // namespace kawara::schedule
