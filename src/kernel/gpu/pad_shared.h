#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Lengthens the rows of shared buffers by one vector where neighbouring threads walk down a
/// column, so that they do not all wait for the same bank of the memory. The kernel's body is that
/// of `launch`.
///
///   before   shared T: f32[32, 32]:  ... T[thread_x, i] ...      all threads in one bank
///   after    shared T: f32[32, 33]:  ... T[thread_x, i] ...
///
/// Positions in such a buffer (stored_by_position.h) move with their rows; where one may be in two
/// rows, the buffer stays as it is.
Kernel pad_shared(Kernel, const Launch& launch);

} // namespace kawara::kernel
