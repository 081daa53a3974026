#pragma once

#include "kernel/kernel.h"
#include "target/cpu.h"

namespace kawara::kernel {

/// Exponentials that may be larger or smaller by one factor for all that have the same subtrahend
/// (kernel/math/scaled_exp) are taken without subtracting it, where it is small enough that nothing
/// overflows and no digits are lost.
///
///   before   for j in range(0, N, 8):
///              e[ramp(j, 1, 8)] =
///                exp(nan_min(0, X[ramp(j, 1, 8)] - broadcast(m[0], 8))) * kRowExpScale
///   after    if abs(m[0]) <= 20.0:
///              for j in range(0, N, 8):
///                e[ramp(j, 1, 8)] = exp(nan_max(-124.5, X[ramp(j, 1, 8)])) * kRowExpScale
///            else:
///              for j in range(0, N, 8):
///                e[ramp(j, 1, 8)] =
///                  exp(nan_min(0, X[ramp(j, 1, 8)] - broadcast(m[0], 8))) * kRowExpScale
///
/// What is below -124.5 is less than half of the smallest float beside the largest exponential,
/// like -124.5. A difference that is not computed is not rounded either. So are those beside a
/// loop, for its last lanes: all exponentials of a kernel or none. Needs a machine for which
/// expand_math has the formula.
Kernel unshifted_exp(Kernel, const target::Cpu&);

} // namespace kawara::kernel
