#pragma once

#include "graph/tensor.h"

namespace kawara::graph::optimise {

/// The elements in another order of dimensions: dimension k of the result is dimension order[k] of
/// the given tensor.
Tensor transposed_tensor(const Tensor&, const std::vector<int64_t>& order);

} // namespace kawara::graph::optimise
