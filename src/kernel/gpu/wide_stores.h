#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Stores neighbouring elements of global memory, that statements following each other store one by
/// one, in pieces of up to 16 bytes. The kernel's body is that of `launch`.
///
///   before   D[thread_x*8] = select(c0, a, 0)               D: bf16
///            ...
///            D[thread_x*8 + 7] = select(c7, h, 0)
///   after    private D_wide: f32[8]:
///              D_wide[0] = select(c0, a, 0)
///              ...
///              D[ramp(thread_x*8, 1, 8)] = D_wide[ramp(0, 1, 8)]
///
/// Needs    floats, elements in the order of memory, at a position that is a multiple of the piece
///          as far as indices show; values that are not made of the buffer's own elements.
Kernel wide_stores(Kernel, const Launch& launch);

} // namespace kawara::kernel
