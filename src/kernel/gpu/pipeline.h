#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Carries out the mark `pipeline` on loops of a launch, whose body is the kernel's.
///
///   before   for k in range(0, K):  # pipeline(3)
///              shared T: f32[64]:
///                barrier
///                T[thread_x] = A[k, thread_x]
///                barrier
///                ... T[i] ...
///   after    shared T: f32[3, 64]:
///              async T[0, thread_x] = A[0, thread_x];  commit           (and for k = 1)
///              for k in range(0, K):
///                await all but 1;  barrier
///                if k + 2 < K: async T[(k + 2) % 3, thread_x] = A[k + 2, thread_x]
///                commit
///                ... T[k % 3, i] ...
///
/// Needs    the buffers allocated around everything in the loop; copies from buffers that the
///          launch does not write, first in the body, and a barrier after them. Elsewhere the mark
///          is dropped.
Kernel pipeline(Kernel);

} // namespace kawara::kernel
