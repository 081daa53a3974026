#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// A copy of a tensor with its last two dimensions exchanged.
struct TransposedCopy {
  uint32_t buffer =
      0;       ///< a workspace; rows are of a multiple of `alignment` bytes, zeros at their ends
  Launch copy; ///< fills it
};

/// A copy of the buffer, of constant shape and two dimensions or more. Squares of 32 x 32 elements
/// go through shared memory, so that neighbouring threads read and write neighbouring elements.
///
///   launch blocks(128, 128) threads(32, 8):
///     shared square: f32[32, 32]:
///       square[y, x] = B[32*block_y + y, 32*block_x + x]        y = thread_y, thread_y + 8, ...
///       barrier
///       B_transposed[32*block_x + y, 32*block_y + x] = square[x, y]
TransposedCopy transposed_copy(Kernel&, uint32_t buffer, int64_t alignment);

} // namespace kawara::kernel
