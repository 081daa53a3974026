#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Keeps elements that a serial loop comes back to in every iteration in variables.
///
///   before   for k in range(0, K):
///              C[i, j] += A[i, k] * B[k, j]
///   after    if 0 < K:
///              let C_element = C[i, j]
///              for k in range(0, K):
///                C_element = C_element + A[i, k] * B[k, j]
///              C[i, j] = C_element
///
/// An element qualifies when its index does not change in the loop, every run of the body is sure
/// to touch it, and every other access of the loop to the buffer is spelled the same or provably
/// elsewhere. From the innermost loop outwards, so a tile stays in registers over all reduction
/// loops. The test is left out where the loop is known to run. Works for scalars and vectors;
/// values are rounded as the store would have done.
///
/// A variable starts with the element's old value where that may be needed; a workspace that nobody
/// has written before the loop has none, and reading it would be reading what was never written.
Kernel promote(Kernel);

/// The same for the body of a launch. In a loop where threads of a GPU wait for each other, others
/// may look at an element in the meantime: only elements of buffers in `owned`, which no other
/// thread touches, are kept there.
Kernel promote(Kernel, const std::set<uint32_t>& thread_private);

/// More elements than this are left in memory: they would not fit any register file.
inline constexpr size_t kMaxPromoted = 96;

} // namespace kawara::kernel
