#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Divisions of several elements by one divisor become products with its reciprocal, computed once:
/// at most 1.5 units in the last place from the quotient. For code of GPUs, where `reciprocals`
/// would need a second copy of an unrolled row.
///
///   before   Y[ramp(j, 1, 8)] = e[ramp(j, 1, 8)] / broadcast(total, 8)
///   after    let scale = 1, or a power of 2 where the reciprocal would lose digits
///            let reciprocal = 1.0 / (total * scale)
///            Y[ramp(j, 1, 8)] = e[ramp(j, 1, 8)] * broadcast(reciprocal, 8) * broadcast(scale, 8)
///
/// Quotients of f32 under `rounding` only, and none that is turned into an integer or compared,
/// where one unit can decide.
Kernel shared_divisors(Kernel);

} // namespace kawara::kernel
