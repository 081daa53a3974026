#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Keep the elements of a tensor that a loop works on in a tile of their own while the loop runs:
/// `promote(C, k)`.
///
///   before   for i.0: for j.0: for k: for i.1: for j.1:  C[i, j] += A[i, k] * B[k, j]
///   after    for i.0: for j.0:
///                for d0: for d1:  C_held[d0, d1] = C[i.0*6 + d0, j.0*16 + d1]
///                for k: for i.1: for j.1:  C_held[i.1, j.1] += A[i, k] * B[k, j]
///                for d0: for d1:  C[i.0*6 + d0, j.0*16 + d1] = C_held[d0, d1]
///
/// The tile has the shape of what one run of the loop touches, a constant number of elements. Once
/// its loops are unrolled or vectorised its elements are registers. Elements that the loop writes
/// before it reads them are not copied in, and those of a temp that nothing else reads are not
/// copied out. The copying statements get the next free numbers; their loops are called after the
/// dimensions.
///
/// Accumulators of plain reductions are kept in registers without being asked
/// (kernel/memory/promote.h); the directive is for loops where that cannot be seen, and for saying
/// so.
///
/// Needs    a tensor that is written below the loop, and a constant number of elements, at most
///          4096.
/// Legal    as the copies are: judged like all other statements.
/// Refuses  an unknown tensor (K0208), a tensor that cannot be promoted there (K0256), a vector,
///          unrolled or coalesced loop (K0217).
Proposed propose(const Schedule&, const Promote&, const Environment&);

} // namespace kawara::schedule
