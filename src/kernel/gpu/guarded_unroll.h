#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Copies the bodies of loops marked unroll of which some threads have more iterations than others:
/// what not all of them have stands under a condition. The kernel's body is that of `launch`.
///
///   before   for j in range(0, 32 - (thread_x + 21)//32):  # unroll
///            (rows of 1003 elements, 32 threads)
///              T[thread_x + 32*j] = A[thread_x + 32*j]
///   after    T[thread_x] = A[thread_x]
///            ...
///            T[thread_x + 960] = A[thread_x + 960]
///            if 31 < 32 - (thread_x + 21)//32:
///              T[thread_x + 992] = A[thread_x + 992]
///
/// Needs    a first iteration that is a constant; ends that differ by kMostUnequal iterations at
///          most, as far as the ranges of blocks, threads and loops around show; at most kMaxCopies
///          statements (unroll.h).
Kernel guarded_unroll(Kernel, const Launch& launch);

inline constexpr int64_t kMostUnequal = 2;

} // namespace kawara::kernel
