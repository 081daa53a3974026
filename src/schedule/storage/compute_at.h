#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Move a producer inside a loop of its consumer: `compute_at(S0, S1.i)`.
///
///   before   for i: for j:  T[i, j] = f(i, j)                       # S0
///            for i: for j:  B[i, j] = T[i, j] + T[i + 1, j]         # S1
///   after    for i:
///                for i.p in i..i+1: for j:  T[i; i.p, j] = f(i.p, j)
///                for j:  B[i, j] = T[i; i, j] + T[i; i + 1, j]
///
/// Everything that writes T (S0 and its updates) moves to the start of loop i, just before the
/// first statement that reads T, and runs there for exactly the elements that this iteration reads;
/// elements that several iterations read are computed several times. T gets leading dimensions that
/// count the iterations, so that copies do not meet; storage may be reused later. Loops keep their
/// names; one whose name is taken on the way gets `.p` added, one that would run only at the
/// consumer's own value is left out.
///
/// Needs    T a temp; all readers of T below the loop, the producers not; producers that do not
///          read T but through their own updates.
/// Legal    when what the producers read is not overwritten between their old and their new place;
///          the moved iterations are judged like all others.
/// Refuses  everything else (K0222), a vector, unrolled or coalesced loop (K0217).
Proposed propose(const Schedule&, const ComputeAt&, const Environment&);

} // namespace kawara::schedule
