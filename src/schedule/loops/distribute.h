#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Give each statement below a loop its own nest: `distribute(i)`, the opposite of fuse.
///
///   before   for i: { S0(i); for k: S1(i, k) }
///   after    for i: S0(i)
///            for i: for k: S1(i, k)
///
/// The loop and all loops below it are copied, with their names and marks; afterwards they are told
/// apart as S0.i and S1.i.
///
/// Needs    at least two statements below the loop.
/// Legal    when no statement needs a value that a later statement makes in an earlier
///          iteration.
/// Refuses  a loop with one statement (K0218).
Proposed propose(const Schedule&, const Distribute&, const Environment&);

} // namespace kawara::schedule
