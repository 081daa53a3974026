#pragma once

#include "program/program.h"

#include <set>

namespace kawara::program {

/// The program `times` times, side by side: a loop around all of it, and a dimension in front of
/// the tensors in `own` and of every temp. The other tensors, inputs all of them, are read by each.
///
///   before   input X: f32[M, K], W: f32[K, N]     after   input X: f32[M, K], W: f32[3, K, N]
///            for i in range(M): ...                       for p in range(3):
///              Y[i, j] += X[i, k] * W[k, j]                 for i in range(M): ...
///                                                             Y[p, i, j] += X[i, k] * W[p, k, j]
Program repeated(const Program&, int64_t times, const std::set<uint32_t>& own);

} // namespace kawara::program
