#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Run a statement's iterations later by a constant: `shift(S1.i, 2)`.
///
///   before   for i in 0..9: { S0(i); S1(i) }
///   after    for i in 0..11: { if i <= 9: S0(i);  if i >= 2: S1(i - 2) }
///
/// With a statement before the loop's name only that statement moves, otherwise all below the loop.
///
/// Needs    nothing of the nest.
/// Legal    when every dependence between statements that move and those that do not still goes
///          forward.
/// Refuses  vector, unrolled or coalesced loops (K0217).
Proposed propose(const Schedule&, const Shift&, const Environment&);

} // namespace kawara::schedule
