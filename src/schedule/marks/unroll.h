#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Write out copies of a loop's body: `unroll(j, 4)`, or all of them: `unroll(j)`.
///
///   before   for j in 0..15:            S(j)
///   after    for j in 0..15 step 4:     S(j); S(j+1); S(j+2); S(j+3)
///
/// Needs    for a complete unroll a loop of at most 1024 iterations, whatever the sizes.
/// Legal    always (iterations keep their order).
/// Refuses  factor < 1 (K0212), a complete unroll without a constant extent (K0219), a parallel
///          or coalesced loop (K0217). A vector loop may be unrolled: its vectors are written out.
Proposed propose(const Schedule&, const Unroll&, const Environment&);

} // namespace kawara::schedule
