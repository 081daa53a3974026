#pragma once

#include "schedule/schedule.h"

namespace kawara::schedule {

/// Improves the nests inside a loop that holds blocks small enough for the caches: products get
/// register tiles and packed operands, the rest runs in vectors. `rows` is the loop over blocks of
/// rows and `block` the loop over blocks inside it; operands that do not change along `rows` are
/// packed at `outermost`. Steps that are refused are left out. `copies_before`: what all blocks of
/// rows of an iteration of `outermost` read is copied before that loop, not inside it.
void tile_blocks(Schedule&, poly::LoopId outermost, poly::LoopId rows, poly::LoopId block,
                 bool copies_before, const Environment&);

} // namespace kawara::schedule
