#pragma once

#include "schedule/schedule.h"

namespace kawara::schedule {

/// The schedule with temps that no longer keep iterations in order: those that each iteration of
/// some loop writes anew and nobody reads after it. A value that one statement uses is put there
/// (`inline`), one that becomes an element of a tensor is kept there (`store_in`), and of what is
/// left each iteration gets a copy (`store_at`) where some loop around it can then run in any
/// order.
///
///   acc = 0;  for k: acc += A[i, k] * B[k, j];  C[i, j] = acc   store_at(acc, j); store_in(acc, C)
///   t = A[i, k] * B[k, j];  C[i, j] += t                        store_at(t, k); inline(S0)
///
/// Every step is a directive, proved like all others; `applied` has them. The same schedule where
/// there is nothing to do.
Schedule with_own_temps(const Schedule&, const Environment&);

} // namespace kawara::schedule
