#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Under `exact`, functions of f32 are computed in f64 and rounded once, as the interpreter does:
/// the C library's f32 functions are up to a unit in the last place away from that, each library's
/// elsewhere.
///
///   before   B[i] = exp(A[i])
///   after    B[i] = f32(exp(f64(A[i])))
///
/// Square roots and what rounds to integers are the same in both types and stay, as do functions
/// that are computed in f64 anyway (gelu, silu).
Kernel exact_functions(Kernel);

} // namespace kawara::kernel
