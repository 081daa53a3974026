#pragma once

#include "schedule/auto/chunk/conv_pool.h"

namespace kawara::schedule {

/// A product that multiplies each row of another product's results, or of what follows from these
/// element by element, by weights: both in chunks of rows, so that the rows in between never leave
/// the L2.
///
///   S[i, j] = sum(k, A[i, k] * B[k, j])     for i.0: rows of S and T for a chunk of C, then C's
///   T[i, j] = relu(S[i, j])
///   C[i, j] = sum(k, T[i, k] * D[k, j])
///
/// For the first such product where that is a gain: all rows in between do not fit the cache, those
/// of a chunk fit a quarter of it, and the weights of both products, which every chunk reads again,
/// half of it. Chunks are equal parts of the rows; nothing where there are none.
std::optional<WindowChunks> resident_products(const Schedule&, const Environment&);

} // namespace kawara::schedule
