#pragma once

#include "kernel/kernel.h"
#include "target/gpu.h"

#include <optional>

namespace kawara::kernel {

/// Blocks of a launch that each do several tiles; nothing when it is not known how many tiles there are.
std::optional<int64_t> blocks_that_stay(const Launch&, const target::Gpu&);

/// The work of one block of the launch, for all tiles that a block which stays has. `steps` is the loop inside it.
///
/// Tiles with the same y and z follow each other. Where the number of steps grows with x, a block takes a long tile and a
/// short one, which together are as long as any other two; or, where there are too few tiles for
/// that, the longest first.
Block tiles_in_turn(Kernel&, const Launch&, const For& steps, const target::Gpu&, Block work);

} // namespace kawara::kernel
