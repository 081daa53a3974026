#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// The last iteration of a loop over register tiles, or over squares that are transposed in
/// registers, by itself, where it has fewer rows or columns than the others and their number is
/// known: both then have constant bounds.
///
///   before   for i_0 in range(0, 19):  for k: for i in range(0, min(6, 111 - 6*i_0)): ...
///   after    for i_0 in range(0, 18):  for k: for i in range(0, 6): ...
///            for k: for i in range(0, 3): ...
///
/// All that follows in the tile's loop is apart in the same way, so that nothing asks at run time,
/// and what belongs to a tile meets it: where it starts (tile_start.h), what is made of it
/// (transpose_stores.h). Loops whose threads share iterations stay as they are (last_shared_tiles),
/// and so do copies into packed buffers, which are filled up, and tiles of instructions that read
/// those alone.
Kernel peel_last_tiles(Kernel);

/// The same for loops over tiles that threads share, one tile or a block of them for each
/// iteration, before collapse: the iteration asks once which it is. In the last block the last tile
/// is apart then. Without this its rows would be done one by one, each of them reading all of the
/// right operand.
///
///   after    for i_0 in range(0, 19):  # parallel
///              if i_0 < 18:  for k: for i in range(0, 6): ...
///              else:         for k: for i in range(0, 3): ...
Kernel last_shared_tiles(Kernel);

} // namespace kawara::kernel
