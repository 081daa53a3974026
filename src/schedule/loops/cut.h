#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Split the values of a loop in two at a number: `cut(i, 8)`.
///
///   before   for i in 0..N-1:           S0(i)
///   after    for i.lo in 0..7:          S0(i)
///            for i.hi in 8..N-1:        S1(i)        the same statement under the next free number
///
/// The number is compared with the loop's own values: those of the source loop where it still runs
/// over them (also strided or downwards), else what the loop counts. The halves run in the loop's
/// own direction, so i.hi comes first in a loop that runs downwards.
///
/// Needs    iterations on both sides.
/// Legal    always (iterations keep their order).
/// Refuses  a number that leaves nothing on one side (K0221), a vector, unrolled or coalesced loop
///          (K0217).
Proposed propose(const Schedule&, const Cut&, const Environment&);

} // namespace kawara::schedule
