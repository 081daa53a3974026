#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Divisions by what an innermost loop does not change become products with its reciprocal,
/// computed once before the loop: at most 1.5 units in the last place from the quotient.
///
///   before   for j in range(0, N, 8):
///              Y[ramp(j, 1, 8)] = e[ramp(j, 1, 8)] / broadcast(total[i], 8)
///   after    let reciprocal = 1.0 / total[i]
///            if 1.17549435e-38 <= abs(reciprocal) and abs(reciprocal) < inf:
///              for j in range(0, N, 8):
///                Y[ramp(j, 1, 8)] = e[ramp(j, 1, 8)] * broadcast(reciprocal, 8)
///            else:
///              for j in range(0, N, 8):
///                Y[ramp(j, 1, 8)] = e[ramp(j, 1, 8)] / broadcast(total[i], 8)
///
/// The loop as it was remains for divisors whose reciprocal has not all its digits. Quotients of
/// f32 only, and none that is turned into an integer or compared, where one unit can decide.
/// Nothing under `exact`, nor under `fast`, where emitters do as much without the second loop.
Kernel reciprocals(Kernel);

} // namespace kawara::kernel
