#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Unroll an outer loop and run its copies together in the innermost bodies: `unroll_and_jam(i,
/// 4)`.
///
///   before   for i: for k:                              S(i, k)
///   after    for i in steps of 4: for k: for i.u in 0..3:      S(i + i.u, k)
///
/// i counts groups of 4 iterations; i.u is unrolled completely and stands innermost, around each
/// run of statements below i, or around a vector loop. Full groups are separated from the last,
/// partial one.
///
/// Needs    a loop inside i.
/// Legal    when every dependence still goes forward, as after splitting i and moving i.1
///          innermost.
/// Refuses  a factor below 2 (K0212), a loop with no loop inside (K0226; the way out is unroll), a
///          vector, unrolled or coalesced loop (K0217).
Proposed propose(const Schedule&, const UnrollAndJam&, const Environment&);

} // namespace kawara::schedule
