#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Full tiles apart from partial ones: a nest with constant bounds where all of them hold, the nest
/// as it was elsewhere.
///
///   before   for k: for i in range(0, min(8, N - 8*i_0)):      ...
///   after    if N - 8*i_0 >= 8:   for k: for i in range(0, 8): ...
///            else:                for k: for i in range(0, min(8, N - 8*i_0)): ...
///
/// Applies to loops marked isolated, unrolled or vectorised (isolated ones only when no unrolled or
/// vectorised loop is inside) whose bounds are a constant and other terms under min and max. The
/// test stands as far out as its variables allow, above the reduction loops; the loops of one tile
/// share one test where no reduction loop is between their tile loops, and so do nests that follow
/// each other (share_tests.h). Partial register tiles of a reduction run as smaller tiles
/// (partial_tile.h). Packed buffers that several nests fill are not filled up with zeros, and
/// nothing reads beyond what was copied there.
Kernel separate_tiles(Kernel);

} // namespace kawara::kernel
