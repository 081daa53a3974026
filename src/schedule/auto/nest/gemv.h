#pragma once

#include "schedule/auto/rule/rule.h"

namespace kawara::schedule {

/// A matrix by a few columns: sums of products whose result is too narrow for lanes. The columns
/// are copied once so that they lie along the reduction, as the rows do, and the reduction runs in
/// lanes.
///
///   C[i, j] += A[i, k] * B[k, j], three columns: pack(B); vectorize(k, 4); parallel(i)
void dot_products(const Site&, const Offer&);

/// A matrix by a vector, where the matrix is used again: by the next step of a recurrent layer, or,
/// as a constant, by the next call. It is copied once so that its rows lie side by side, and each
/// row of the result is a lane: nothing is added up across lanes, and the order of each sum stays.
///
///   y[j] += A[j, k] * x[k]:  split(j, 176); reorder(j.0, k, j.1); pack(A); vectorize(j.1, 16)
void rows_of_a_kept_matrix(const Site&, const Offer&);

/// Whether distribution makes such a nest of something in the loop.
bool hides_rows_of_a_kept_matrix(const Schedule&, poly::LoopId, const Environment&);

} // namespace kawara::schedule
