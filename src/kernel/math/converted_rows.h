#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Elements of f16 that three loops of a block or more convert are converted once, before the first
/// of them: it takes longer than to read f32.
///
///   before   for j in range(0, N):  s[0] += f32(X[i, j])
///            for j in range(0, N):  v[0] += (f32(X[i, j]) - s[0]) * (f32(X[i, j]) - s[0])
///            for j in range(0, N):  Y[i, j] = (f32(X[i, j]) - s[0]) * v[0]
///   after    for j in range(0, N):  X_f32[j] = f32(X[i, j])
///            for j in range(0, N):  s[0] += X_f32[j]
///            for j in range(0, N):  v[0] += (X_f32[j] - s[0]) * (X_f32[j] - s[0])
///            for j in range(0, N):  Y[i, j] = (X_f32[j] - s[0]) * v[0]
///
/// Innermost loops of one fixed length that a near cache holds. The value is the same under every
/// contract.
Kernel converted_rows(Kernel);

/// An element of f16, converted to f32: that takes longer than to read f32, as long as it is near.
bool is_converted_f16(const Expr&);

/// The longest row that is kept so, in elements.
inline constexpr int64_t kLongestConverted = 8192;

} // namespace kawara::kernel
