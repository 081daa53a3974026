#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// What each row of a nest would compute again for its columns is computed once, before the rows:
/// functions, quotients, and reciprocals of divisors, which are then at most 1.5 units in the last
/// place from the quotient.
///
///   before   for i in range(0, M):
///              for j in range(0, N):
///                Y[i, j] = (X[i, j] - m[j]) * rsqrt(v[j]) / t[j]
///   after    for j in range(0, N):
///              of_columns[j] = rsqrt(v[j])
///            for j in range(0, N):
///              reciprocals[j] = 1.0 / t[j]
///              smallest[0] min= abs(reciprocals[j]);  largest[0] max= abs(reciprocals[j])
///            if 1.17549435e-38 <= smallest[0] and largest[0] < inf:
///              for i ...: for j ...: Y[i, j] = (X[i, j] - m[j]) * of_columns[j] * reciprocals[j]
///            else:
///              for i ...: for j ...: Y[i, j] = (X[i, j] - m[j]) * of_columns[j] / t[j]
///
/// The loops as they were remain for divisors whose reciprocal has not all its digits (as in
/// kernel/math/reciprocals, which does the same for one divisor of a row, with the same limits).
/// Loops of fixed length only, and none that are unrolled: there equal values are found without
/// this.
Kernel row_invariants(Kernel);

} // namespace kawara::kernel
