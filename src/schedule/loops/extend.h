#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Run a loop on to the next multiple of a number, over zeros: `extend(k, 4)`.
///
///   before   for k in range(0, 10):  C[i, j] += A_staged[i, k] * B_staged[k, j]
///   after    for k in range(0, 12):  C[i, j] += A_staged[i, k] * B_staged[k, j]
///
/// Sizes that are no multiple of a vector, an unrolling or an instruction leave a rest that needs
/// code of its own. With zeros behind the operands (`stage(A, i, d1=4)`, `pad(T, d0, to=8)`) the
/// rest is a whole block as well: `split`, `unroll`, `vectorize` and `tensorize` find no edge. Of a
/// loop over the points of tiles it is the last tile that becomes whole.
///
/// Iterations are added in one of two ways. A sum gets terms that are zero: each a product of
/// zeros, or of a zero and an integer (0 times infinity is NaN). Or a result goes to elements of a
/// temp that nothing else reads: what `promote` holds of an output, made longer by `pad`, has such
/// elements.
///
/// Needs    statements below the loop that each follow it along one iterator.
/// Legal    when every added iteration reads elements that exist and were written before, and adds
///          zero or writes elements that nothing reads; sums of floats where the contract lets -0
///          become 0.
/// Refuses  iterations that would change a result, a loop with a step (K0260), a contract that
///          forbids it (K0227), a number below 1 (K0212), a vector, unrolled or coalesced loop
///          (K0217).
Proposed propose(const Schedule&, const Extend&, const Environment&);

} // namespace kawara::schedule
