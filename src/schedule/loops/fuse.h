#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Make one loop of two that follow each other: `fuse(S0.i, S1.i)`.
///
///   before   for i: S0(i)
///            for i: S1(i)
///   after    for i: { S0(i); S1(i) }
///
/// Iterations with the same value of the loop come together (shift a statement first to pair it
/// with others). The new loop has the first one's name and marks and stands where the earlier one
/// stood; what stood between the two comes after it. Where that writes what the later loop uses and
/// shares nothing with the earlier one (the start of a sum), it comes before. A loop inside the
/// second that has the first one's name, i, becomes i.in.
///
/// Needs    both loops in one sequence: the same loops around them.
/// Legal    when nothing of the later loop needs a value that the earlier one makes at a later
///          iteration.
/// Refuses  loops with different loops around them (K0214), one loop twice (K0220), vector,
///          unrolled or coalesced loops (K0217).
Proposed propose(const Schedule&, const Fuse&, const Environment&);

} // namespace kawara::schedule
