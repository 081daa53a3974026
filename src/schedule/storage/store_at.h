#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Give every iteration of a loop its own copy of a temp: `store_at(T, i.0)`.
///
///   before   for i.0: { for i.1: T[i] = f(i);  for i.1: B[i] = T[i] }      T: f32[N]
///   after    for i.0: { for i.1: T[i.0; i] = f(i);  for i.1: B[i] = T[i.0; i] }
///
/// T gets leading dimensions that count the iterations of the loop and of those around it. One
/// iteration after the other then uses the same small buffer, of the size of what one iteration
/// touches: it stays in the cache or in registers, and threads do not share it.
///
/// A scalar becomes one element an iteration: what iterations write one after the other into the
/// same place is no longer in the way of running them in parallel or in another order.
///
///   before   for i: { s = 0;  for k: s += A[i, k];  B[i] = s }
///   after    for i: { s[i;] = 0;  for k: s[i;] += A[i, k];  B[i] = s[i;] }
///
/// Statements beside the loop that use T for values of their own keep it; the copies then are of a
/// new temp, `T_`.
///
/// Needs    a temp that something below the loop reads or writes.
/// Legal    when every value that is written in an iteration is read in that iteration alone. Only
///          the last write before a read counts: elements may be written again and again.
/// Refuses  an unknown tensor (K0208), a tensor of which that cannot be said (K0236), a vector,
///          unrolled or coalesced loop (K0217).
Proposed propose(const Schedule&, const StoreAt&, const Environment&);

} // namespace kawara::schedule
