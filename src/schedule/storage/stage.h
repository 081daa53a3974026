#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Copy what a loop's iteration reads of a tensor into a buffer of its own: `stage(B, k.0)`,
/// `stage(B, k.0, panel=1, width=12)`, `stage(B, k.0, d0=4, d1=8)`.
///
///   before   for k.0: for i: for j: for k.1:  C[i, j] += A[i, k] * B[k, j]
///   after    for k.0:
///                for d0: for d1:  B_staged[d0, d1] = B[k.0*256 + d0, d1]
///                for i: for j: for k.1:  C[i, j] += A[i, k] * B_staged[k.1, j]
///
/// The buffer has the shape of the box that one iteration reads, lies without gaps, begins on a
/// cache line and is used again by the next iteration. With a panel, dimension `panel` is cut into
/// panels of `width`: the buffer is [panels, other dimensions, width], so that a loop over the
/// other dimensions walks through one panel from end to end. The copying statement gets the next
/// free number; its loops are called after the dimensions (d0, d1; d1.0 and d1.1 for the panels)
/// and take directives as any others do.
///
/// With `d1=8`, dimension 1 of the buffer is as long as the next multiple of 8, and a statement of
/// its own writes zeros to all elements of the buffer that an iteration does not copy: behind the
/// box, and in boxes that the edge of the tensor cuts off. Those elements may be read; `extend`
/// runs loops over them.
///
/// Needs    a tensor that statements below the loop read and none below writes, and that is not
///          written between its first and its last reader of the program text.
/// Legal    when every copy comes after the last write of what it copies and before the next;
///          judged like all other statements.
/// Refuses  an unknown tensor (K0208), a tensor that cannot be staged there (K0235), a panel, a
///          width or a dimension out of range (K0212), a vector, unrolled or coalesced loop
///          (K0217).
Proposed propose(const Schedule&, const Stage&, const Environment&);

} // namespace kawara::schedule
