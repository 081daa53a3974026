#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Exponentials of what is never positive (kernel/math/bounded_exp) that are only added up and
/// divided by each other or their sums become kExpBelowZeroScale times as large: the quotients stay
/// the same, and the formula (scalar/expand/expansion.h) is cheaper; among others it needs no last
/// product, which keeps results from being denormal too early. Their elements and their sums' must
/// live in the kernel alone.
///
///   before   for j: e[j] = exp(nan_min(0, X[j] - m[0]))
///            for k: s[0] += e[k]
///            for j: Y[j] = e[j] / s[0]
///   after    for j: e[j] = exp(nan_min(0, X[j] - m[0])) * 2.2e19
///            ...
///
/// Exact kernels stay as they are.
Kernel scaled_exp(Kernel);

} // namespace kawara::kernel
