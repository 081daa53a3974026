#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Turn a reduction into partial results, one per iteration of a loop, and a combine:
/// `rfactor(k.0)`.
///
///   before   for i: C[i] = 0                                            # S0
///                   for k.0: for k.1:  C[i] += A[i, 32*k.0 + k.1]       # S1
///   after    for i: C[i] = 0                                            # S0
///                   for k.0:           P[k.0, i] = 0                    # S3
///                   for k.0: for k.1:  P[k.0, i] += A[...]              # S1
///                   for k.0:           C[i] += P[k.0, i]                # S2
///
/// The update keeps its number and loops and writes the partial results P; the combine gets the
/// next free number, the initialisation of P the one after. The loop carries no reduction any more,
/// so that `parallel(k.0)` becomes legal.
///
/// With `type=f16` the partial results are of that type: a wider one adds up more exactly; a
/// narrower one rounds more, which `numerics fast` allows.
///
/// Needs    one update statement below the loop that adds to an element in several of its
///          iterations; no other statement that touches the tensor inside the loop, nor between the
///          iterations of the loop in the source.
/// Legal    where reductions may be reassociated; the place of the combine is judged.
/// Refuses  `numerics exact`, a narrower type without `numerics fast`, one of another kind (K0227),
///          everything else that is missing (K0224), a vector, unrolled or coalesced loop (K0217).
Proposed propose(const Schedule&, const Rfactor&, const Environment&);

} // namespace kawara::schedule
