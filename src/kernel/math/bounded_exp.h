#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// exp(a - m) becomes exp(nan_min(a - m, 0)) where m is proved to be no less than a: the same nest
/// of loops ran before over the same range and made m[...] the greatest of itself and a, and
/// neither has changed since. Costs nothing, and the exponential of what is never positive is
/// cheaper (scalar/expand/expansion.h). The softmax of every row is of this form.
///
///   for k in range(0, n): m[0] max= X[i, k]
///   for j in range(0, n): e[j] = exp(X[i, j] - m[0])
///
/// For kernels whose loops are still as the schedule made them. Exact kernels stay as they are.
Kernel bounded_exp(Kernel);

/// exp(nan_min(0, x)) becomes exp(x) again, for text: its compiler has one exponential.
Kernel plain_exp(Kernel);

} // namespace kawara::kernel
