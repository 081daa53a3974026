#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Split several loops of a nest and put all tile loops outside all point loops:
/// `tile(i=64, j=64)`.
///
///   before   for i: for j:                               S(i, j)
///   after    for i.0: for j.0: for i.1: for j.1:         S(i.0*64 + i.1, j.0*64 + j.1)
///
/// Tile loops come in the order written, then point loops in the same order. Full tiles are kept
/// apart from partial ones (the mark of `isolate`). `tile(i, 32)` is another spelling of
/// `tile(i=32)`.
///
/// Needs    the loops next to each other in one perfect nest; what stands below the innermost
///          is free.
/// Legal    when every dependence between points of different tiles follows the order of the
///          tiles.
/// Refuses  size < 1 (K0212), something between the loops (K0210), loops not nested (K0211), a
///          loop named twice (K0220), vector, unrolled or coalesced loops (K0217).
Proposed propose(const Schedule&, const Tile&, const Environment&);

} // namespace kawara::schedule
