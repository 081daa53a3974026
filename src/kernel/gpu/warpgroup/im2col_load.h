#pragma once

#include "kernel/gpu/warpgroup/collective_form.h"

namespace kawara::kernel {

/// Of an operand that is an image under a window (Buffer::window): TMA can bring places of the
/// window one after the other, the lines of a tile.
bool can_walk(const Kernel&, const Launch&, const TileAccess&);

/// Brings that many `lines` of the tile, and `depth` of their channels.
BulkLoad walk_load(const Kernel&, const TileAccess&, int64_t lines, int64_t depth);

} // namespace kawara::kernel
