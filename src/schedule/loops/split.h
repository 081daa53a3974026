#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Split a loop into a loop over tiles and a loop over the points of a tile: `split(i, 32)`.
///
///   before   for i in lo..hi:                              S(i)
///   after    for i.0 in lo//32..: for i.1 in 0..31:        S(i.0*32 + i.1)
///
/// i.0 counts tiles, i.1 runs from 0 to 31, less in a partial tile. Tiles are aligned to the values
/// of the loop itself: tile 0 holds the values 0..31 whatever lo is. A mark `parallel` stays with
/// i.0.
///
/// Needs    nothing of the nest around or below; a coalesced loop only when its inner extent is
///          a constant.
/// Legal    always (iterations keep their order).
/// Refuses  size < 1 (K0212), a vector or unrolled loop (K0217), a coalesced loop whose inner
///          extent is not a constant (K0219).
Proposed propose(const Schedule&, const Split&, const Environment&);

/// The two loops that a split made.
struct SplitLoops {
  poly::LoopId tiles, points;
};
/// Splits in place; the card above says what. `size` is at least 1 and the loop is not coalesced.
SplitLoops split_in_place(poly::Order&, poly::LoopId, int64_t size);

} // namespace kawara::schedule
