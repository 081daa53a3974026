#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Run two loops as one that counts through both: `coalesce(i, j)`.
///
///   before   for i in 0..N-1: for j in 0..M-1:      S(i, j)
///   after    for i_j in 0..N*M-1:                   S(i_j // M, i_j % M)
///
/// The names i and j give way to i_j. A mark `parallel` of the outer loop covers both afterwards.
///
/// Needs    `inner` alone in the body of `outer`; bounds of `inner` that do not depend on
///          `outer`.
/// Legal    always (iterations keep their order), unless a parallel mark now covers more.
/// Refuses  something between the two (K0210), loops not nested (K0211), bounds that depend on
///          the outer loop (K0215), vector or unrolled loops (K0217).
Proposed propose(const Schedule&, const Coalesce&, const Environment&);

/// The order in which `loop`, if it is coalesced, is one loop with one row: i*extent + (j - low).
/// Any other loop is left as it is.
///
/// Refuses  an inner extent that is not the same constant for all sizes (K0219).
Result<poly::Order, Refusal::Shape> as_single_loop(const Schedule&, poly::LoopId loop,
                                                   const std::string& request);

} // namespace kawara::schedule
