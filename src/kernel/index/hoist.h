#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Defines costly index expressions once, outside the loops that do not change them: divisions,
/// remainders, minima, maxima and products of two unknowns, and ends of loops that hold such. What
/// only adds and scales stays in place.
///
///   before   for y in range(0, H):
///              for x in range(0, min(32, W - 32*x_0)):
///                B[y, x] = A[(y + K // 2) % 8, x]
///   after    let x_end = min(32, W - 32*x_0)
///            let fixed = K // 2
///            for y in range(0, H):
///              let fixed_1 = (y + fixed) % 8
///              for x in range(0, x_end):
///                B[y, x] = A[fixed_1, x]
///
/// Nothing moves out of the body of a parallel loop: it becomes a function of its own, in which a
/// compiler would know less about what was computed outside. Expressions that could fail (division
/// by what may be zero) or that read memory are not moved.
Kernel hoist(Kernel);

} // namespace kawara::kernel
