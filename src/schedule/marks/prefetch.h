#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Call elements into the cache before they are needed: `prefetch(C, i.1)`, or `prefetch(C, i.1,
/// ahead=2)`.
///
///   before   for i.1: { C[i.1, 0..15] += ... }
///   after    for i.1: { prefetch C[i.1 + 1, 0..15];  C[i.1, 0..15] += ... }
///
/// At the start of each iteration the cache lines are asked for that the iteration `ahead` of it
/// touches first: of loops inside, those of their first iteration. What the loops inside read
/// element after element, more than can be asked for at once (a panel of a packed operand), is
/// asked for a few lines at a time all through the iteration. What they copy into a buffer (`pack`,
/// `stage`) is asked for where the copy is read. Where each iteration of an innermost loop reads
/// another row, that loop asks for the same row's elements. It hides the time until memory answers
/// where the hardware does not foresee the next access (tiles of a matrix, rows far apart); where
/// it does, the instructions are wasted.
///
/// Needs    a loop that something below touches the tensor in.
/// Legal    always: nothing is read or written.
/// Refuses  an unknown tensor (K0208), one that nothing below the loop touches (K0245), `ahead`
///          below 1 or above 64 (K0212), a vector, unrolled or coalesced loop (K0217).
Proposed propose(const Schedule&, const Prefetch&, const Environment&);

} // namespace kawara::schedule
