#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Say where statements run, whole: `arrange(S0[0, i, 0], S1[1, i, 0, k, 0])`.
///
///   before   for i: { S0(i); for k: S1(i, k) }
///   after    for i: S0(i)
///            for i: for k: S1(i, k)
///
/// A statement has places and loops in turn (the 2d+1 form of schedules): its place among what
/// stands around the first loop, a loop, its place in the body of that loop, and so on. Statements
/// share a loop as far as all their places agree; the loop has the name and the marks that it has
/// around the first of them. `i+1` shifts: the statement runs one iteration later. A last place of
/// 0 can be left out. Loops outside the first one named stay around all of them.
///
/// Needs    all statements of the loops that change, and of each statement all loops from some
///          depth on, each once.
/// Legal    when every value is still made before it is read.
/// Refuses  loops that are not those around the statement, statements left out or given twice,
///          two statements at one place, a loop that was coalesced (K0263).
Proposed propose(const Schedule&, const Arrange&, const Environment&);

} // namespace kawara::schedule
