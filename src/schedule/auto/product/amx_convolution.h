#pragma once

#include "schedule/auto/product/operand_layout.h"

namespace kawara::schedule {

/// Tiles (AMX) take their rows from anywhere, at one distance: 64 bytes of channels of so many
/// neighbouring elements of an image, for each place of a window, straight unpacked. Rows and
/// columns of the image become one loop, so that tiles of several rows of it are computed at once,
/// and the loop is cut where a row of the image ends.
///
///   before   for k, h, w, c, r, s:  Y[h, w, k] += X[h + r, w + s, c] * W[k, c, r, s]
///   after    for k, h_w, c, r, s:   the same, tiles of 14 rows where w has 14, 28 or 56 iterations
///
/// Images whose channels come first are laid out in groups of 64 bytes before. The nests around
/// that begin or finish the result's elements get the same loops.
///
/// Nothing where there is no such instruction, its work per multiply-add is not clearly less than
/// another's, channels do not fill whole rows of tiles, or rows of the image have no good divisor.
std::optional<Grouped> with_tile_rows(const Schedule&, const Product&, const Environment&);

/// Whether rows of so many elements are cut evenly into tiles that are not mostly empty.
bool fills_tiles(int64_t width);

} // namespace kawara::schedule
