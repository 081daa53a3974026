#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Full blocks apart from partial ones: where all threads of a block have only full tiles, bounds
/// and conditions are left out. The kernel's body is that of `launch`.
///
///   before   if block_x*128 + thread_x < N:
///              for i in range(0, min(4, M - 4*block_y)): ...
///   after    if N - 128*block_x >= 128 and M - 4*block_y >= 4:
///              for i in range(0, 4): ...
///            else: the same as before
///
/// All threads of a block decide alike, so barriers may stand inside. What depends on variables
/// without constant ends stays as it is in both.
Kernel uniform_tiles(Kernel, const Launch& launch);

} // namespace kawara::kernel
