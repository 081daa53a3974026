#pragma once

#include "kernel/kernel.h"
#include "target/cpu.h"

namespace kawara::kernel {

/// Functions of f32 values become arithmetic (scalar/expand/expansion.h), so that vector code has
/// no calls.
///
///   before   B[ramp(i, 1, 4)] = exp(A[ramp(i, 1, 4)])
///   after    let z = nan_min(broadcast(89.5, 4), nan_max(broadcast(-104.5, 4), A[ramp(i, 1, 4)]))
///            let t = fma(z, broadcast(1.442695, 4), broadcast(12583166.0, 4))
///            ...
///            B[ramp(i, 1, 4)] = fma(p, s, s) * from_bits(h * broadcast(8388608, 4))
///
/// Under `exact` every call stays, as do calls in bounds and conditions and calls on machines
/// without fma. `fast` takes the quick formulas. A side of a select that loads keeps its formula to
/// itself, because the load may be done only when that side is chosen.
Kernel expand_math(Kernel, const target::Cpu&);

/// Whether that machine has what formulas need: fma.
bool has_formulas(const target::Cpu&);

} // namespace kawara::kernel
