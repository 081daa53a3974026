#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Divides in 32 bits where the dividend of an index expression provably fits: machines have no
/// vector multiplication that keeps the upper half of 64-bit products, which is what a division by
/// a constant becomes.
///
///   before   for j in range(0, 100000): B[j] = A[j*7 % 1000]
///   after    for j in range(0, 100000): B[j] = A[i64(i32(j*7) % 1000)]
///
/// Only the dividend and the division are narrow; addresses keep 64 bits. Divisors are constants
/// and no powers of two, which are shifts and masks in any width. In vectors the lanes are narrow
/// from where they begin, so that no lanes are converted.
Kernel narrow(Kernel);

} // namespace kawara::kernel
