#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Loads neighbouring elements of global memory, that statements following each other read one by
/// one, in pieces of up to 16 bytes. The kernel's body is that of `launch`. Elements of shared
/// memory are near enough: there, waiting for whole pieces costs more registers than it saves
/// loads.
///
///   before   s = s + f32(A[thread_x*8])                       A: bf16
///            s = s + f32(A[thread_x*8 + 1])
///            ...
///            s = s + f32(A[thread_x*8 + 7])
///   after    private A_wide: f32[8]:
///              A_wide[ramp(0, 1, 8)] = f32(A[ramp(thread_x*8, 1, 8)])
///              s = s + A_wide[0]
///              ...
///
/// Needs    buffers that none of these statements writes, and no barrier between them; pieces of
///          which every element is read, at positions that are multiples of their length as far as
///          indices show. What a select may leave out stays where it is.
Kernel wide_loads(Kernel, const Launch& launch);

} // namespace kawara::kernel
