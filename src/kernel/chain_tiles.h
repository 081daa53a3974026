#pragma once

#include "kernel/kernel.h"
#include "target/gpu.h"

#include <optional>

namespace kawara::kernel {

/// What tiles of a chain have to do.
struct ChainTiles {
  const For& steps;
  int64_t bytes = 0; ///< of the tensors that tiles with the same y and z read alike
};

/// Blocks of a launch that each do several tiles; nothing when it is not known how many tiles there are.
std::optional<int64_t> blocks_that_stay(const Launch&, const target::Gpu&);

/// The work of one block of the launch, for all tiles that a block which stays has.
///
/// Tiles with the same y and z follow each other. Where tiles have different numbers of steps, the
/// longest come first, in bands whose tensors fit the cache, and blocks change places from turn to turn, so that
/// all have about the same.
Block tiles_in_turn(Kernel&, const Launch&, const ChainTiles&, const target::Gpu&, Block work);

} // namespace kawara::kernel
