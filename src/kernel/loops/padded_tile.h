#pragma once

#include "kernel/analysis/ranges.h"

namespace kawara::kernel {

/// Bounds that a loop has in a full tile.
struct FullBounds {
  int64_t lo = 0, hi = 0;
};
/// The full bounds of a tile's loop; empty for other loops.
using FullBoundsOf = std::function<std::optional<FullBounds>(const For&)>;

/// The nest of a partial register tile, run as a full one on packed operands: elements beyond the
/// edge are computed and thrown away.
///
///   before   for k: for i in range(0, min(8, M - 8*i_0)): for j in range(0, min(12, ...)):
///              C[8*i_0 + i, ...] += A_packed[i_0, k, i] * B_packed[j_0, k, j]
///   after    private C_tile: f32[8, 12]:
///              for i in range(0, 8): for j in range(0, 12): C_tile[i, j] = 0
///              for k: for i in range(0, 8): for j in range(0, 12):
///                C_tile[i, j] += A_packed[...] * B_packed[...]
///              for i in range(0, min(8, ...)): for j in range(0, min(12, ...)):
///                C[...] += C_tile[i, j]
///
/// Needs    a perfect nest around one update, with reassociation allowed, that does not read
///          results; edges that are the same for the whole reduction; what it reads along a loop
///          with an edge are packed buffers that have the elements of the full tile. Empty
///          elsewhere.
Block padded_tile(Kernel&, const For& nest, const FullBoundsOf&, Ranges);

/// Whether the nest's innermost loop is a vector loop along which the result's elements are not
/// neighbours: as a padded tile, lanes are neighbours in the tile's own storage.
bool has_strided_lanes(const For& nest);

/// The statements with nests of such lanes as padded tiles where that is possible, around whole
/// reductions.
///
///   before   for j in range(0, 3): for k: for i in range(0, 16):  # vector(16)
///              C[i, j] += A_packed[k, i] * B[k, j]
///   after    for j in range(0, 3): private C_tile: f32[16]: ...
Block with_own_lanes(Kernel&, const Block&, const Ranges&);

/// Whether the nest's innermost loops run as an instruction whose results are not neighbours in the
/// result's buffer: as a padded tile, the storage of the tile follows the loops.
bool has_results_apart(const Kernel&, const For& nest);

/// The nest of a partial tile that fills a packed buffer, with zeros for the elements beyond the
/// edge. Empty for other nests.
Block zero_padded(const Kernel&, const For& nest, const FullBoundsOf&, Ranges);

} // namespace kawara::kernel
