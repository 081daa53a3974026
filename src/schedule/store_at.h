#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Give every iteration of a loop its own copy of a temp: `store_at(T, i.0)`.
///
///   before   for i.0: { for i.1: T[i] = f(i);  for i.1: B[i] = T[i] }      T: f32[N]
///   after    for i.0: { for i.1: T[i.0; i] = f(i);  for i.1: B[i] = T[i.0; i] }
///
/// T gets leading dimensions that count the iterations of the loop and of those around it. One iteration
/// after the other then uses the same small buffer, of the size of what one iteration touches: it stays
/// in the cache or in registers, and threads do not share it.
///
/// Needs    a temp, with everything that reads or writes it below the loop.
/// Legal    when no iteration reads a cell that another one writes.
/// Refuses  an unknown tensor (K0208), a tensor of which that cannot be said (K0236), a vector, unrolled
///          or coalesced loop (K0217).
Proposed propose(const Schedule&, const StoreAt&, const Environment&);

} // namespace kawara::schedule
