#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Run W consecutive iterations of the innermost loop as the lanes of vectors: `vectorize(j, 8)`.
///
///   before   for j:               x[j] = f(y[j])
///   after    for j step 8:        x[j..j+7] = f(y[j..j+7])
///
/// Statement by statement, all lanes read before any lane writes. Without a width the machine's
/// vector registers decide: as many lanes as one holds of the widest element that the statements
/// touch. Widths that are no power of two are slow, and warned of (K0262).
///
/// The running value of a scan (s[i] = s[i - 1] + x[i], with `*`, `max` and `min` too) goes from
/// lane to lane: each adds the lane one before, then the one two before, four before and so on.
///
/// Needs    a loop with statements only below it.
/// Legal    when no lane needs what a lane before it writes (a distance of W or more is fine),
///          but for the running value of a scan that may be reassociated, and no two lanes store
///          to one element, unless as one reduction that may be reassociated.
/// Refuses  a loop with loops inside (K0213; the way out reorders), a width outside 2..1024
///          (K0212), a parallel or coalesced loop (K0217).
Proposed propose(const Schedule&, const Vectorize&, const Environment&);

/// Lanes that `vectorize(loop)` without a width takes; at least 2.
int64_t natural_width(const poly::Scop&, const poly::Order&, poly::LoopId, const target::Cpu&);

} // namespace kawara::schedule
