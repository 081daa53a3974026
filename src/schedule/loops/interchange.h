#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Let two loops of a nest change places: `interchange(i, j)`.
///
///   before   for i: for j:     S(i, j)
///   after    for j: for i:     S(i, j)
///
/// Loops between the two stay where they are. Marks move with their loop.
///
/// Needs    both loops in one perfect nest.
/// Legal    when no dependence is (…, +, …, -, …) in the two: first later in the outer, then
///          earlier in the inner loop.
/// Refuses  something between the loops (K0210), loops not nested (K0211), one loop twice
///          (K0220).
Proposed propose(const Schedule&, const Interchange&, const Environment&);

} // namespace kawara::schedule
