#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Keeps lanes of i64 in 32 bits where they provably fit: twice as many numbers in a register,
/// beside floats that have 32 bits themselves. It is about places, as argmax has them: least and
/// greatest numbers of what is chosen.
///
///   before   at: i64x8 = min(at, select(x[ramp(j, 1, 8)] == best, ramp(j, 1, 8),
///                                       broadcast(4096, 8)))
///   after    at: i32x8 = min(at, select(x[ramp(j, 1, 8)] == best, ramp(i32(j), 1, 8),
///                                       broadcast(4096, 8)))
///
/// The variables are read in their own updates and in reductions of lanes to one number only; that
/// number is made wide again, and the ends of i64, with which such variables begin, are the ends of
/// 32 bits meanwhile.
Kernel narrow_lanes(Kernel);

} // namespace kawara::kernel
