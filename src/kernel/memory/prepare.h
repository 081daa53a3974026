#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Brings what depends on constants alone to the front of the kernel and counts it
/// (Kernel::prepared).
///
///   before   for i: A_sum[i] = A[i] * 2          A an input
///            for j: W_packed[j] = W[j]           W a constant
///            ...
///   after    for j: W_packed[j] = W[j]           prepared: 1
///            for i: A_sum[i] = A[i] * 2
///            ...
///
/// Statements of the body that write the same workspaces, as a loop and its remainder do, qualify
/// together: when they read nothing but constants and workspaces that were prepared before them,
/// nothing else writes their workspaces, and none between them reads these. They share no variable
/// with others either.
Kernel prepare(Kernel);

} // namespace kawara::kernel
