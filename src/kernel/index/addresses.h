#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Computes the part of an address that a loop does not change once, before the loop. What varies
/// stays as a small sum of the loop's own variables.
///
///   before   for i in range(0, M):
///              for k in range(0, K):
///                for j in range(0, N):
///                  C[i, j] += A[i, k] * B[k, j]
///   after    for i in range(0, M):
///              let C_row = i*N
///              let A_row = i*K
///              for k in range(0, K):
///                let B_row = k*N
///                for j in range(0, N):
///                  C[C_row + j] += A[A_row + k] * B[B_row + j]
///
/// An access that uses such a row has one flat index, the element's place in row-major order
/// (kernel.h); the others keep an index per dimension. Constant distances are not part of a row, so
/// that neighbouring elements share one. Only what takes a multiplication or a division is worth a
/// row. Nothing moves out of a parallel loop: its body becomes a function of its own, and what was
/// computed outside is opaque to a compiler there.
Kernel addresses(Kernel);

} // namespace kawara::kernel
