#pragma once

#include "kernel/kernel.h"

#include <optional>
#include <string>

namespace kawara::emit {

/// The threads of a warp as a rectangle of a block's threads: `rows` along y, `columns` along x.
/// Two neighbours of a warp are in one column, and so are pairs of them that lie half a warp apart:
/// reads of 16 bytes from shared memory are served half a warp at a time, and faster where
/// neighbours read the same.
struct WarpShape {
  int64_t rows = 4, columns = 8;
};

/// The shape for a launch in whose loops threads of a row read one part of shared memory and
/// threads of a column another: the operands of a product. Nothing for other launches, whose warps
/// are 32 neighbours along x.
std::optional<WarpShape> warp_shape(const kernel::Kernel&, const kernel::Launch&);

/// CUDA text: the column (x) or the row (y) of a thread in a block with `across` threads along x
/// and warps of that shape.
std::string number_in_warps(const WarpShape&, int64_t across, bool is_column);

} // namespace kawara::emit
