#pragma once

#include "schedule/auto/rule/rule.h"

namespace kawara::schedule {

/// A matrix by a few columns: sums of products whose result is too narrow for lanes. The columns
/// are copied once so that they lie along the reduction, as the rows do, and the reduction runs in
/// lanes.
///
///   C[i, j] += A[i, k] * B[k, j], three columns: pack(B); vectorize(k, 4); parallel(i)
void dot_products(const Site&, const Offer&);

} // namespace kawara::schedule
