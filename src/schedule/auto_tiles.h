#pragma once

#include "schedule/schedule.h"

namespace kawara::schedule {

/// Improves the nests inside a loop that holds blocks small enough for the caches: products get register
/// tiles and packed operands, the rest runs in vectors. `rows` is the loop over blocks of rows and `block`
/// the loop over blocks inside it; operands that do not change along `rows` are packed at `outermost`.
/// Steps that are refused are left out.
void tile_blocks(Schedule&, poly::LoopId outermost, poly::LoopId rows, poly::LoopId block,
                 const Environment&);

} // namespace kawara::schedule
