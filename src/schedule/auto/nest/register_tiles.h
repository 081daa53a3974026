#pragma once

#include "schedule/auto/rule/rule.h"

namespace kawara::schedule {

/// A nest with more work than data, every operand used again along some loop, which is no product
/// that is worth copies: outer tiles for the caches, inner tiles for the registers, the reduction
/// between them.
void register_tiles(const Site&, const Offer&);

/// Short sums of columns: element by element, with registers for all the results.
///
///   y[j] += A[i, j], 12 x 16    reorder(i, j); vectorize(j, 8); unroll(j)
void short_column_sums(const Site&, const Offer&);

} // namespace kawara::schedule
