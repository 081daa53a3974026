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
/// A statement of the body qualifies when it reads nothing but constants and workspaces that were
/// prepared before it, and writes workspaces that no other statement writes. It shares no variable
/// with others either.
Kernel prepare(Kernel);

} // namespace kawara::kernel
