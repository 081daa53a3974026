#include "graph/optimise/transpose_tensor.h"

#include <cstring>

namespace kawara::graph::optimise {

Tensor transposed_tensor(const Tensor& given, const std::vector<int64_t>& order) {
  Shape shape;
  for (const int64_t from : order)
    shape.push_back(given.shape()[static_cast<size_t>(from)]);
  Tensor out(given.type(), shape);
  const auto element = static_cast<size_t>(bytes_of(given.type()));
  std::vector<int64_t> steps(order.size(), 1), at(order.size(), 0);
  for (size_t k = order.size(); k-- > 1;)
    steps[k - 1] = steps[k] * given.shape()[k];
  for (int64_t to = 0; to < out.elements(); ++to) {
    int64_t from = 0;
    for (size_t k = 0; k < order.size(); ++k)
      from += at[k] * steps[static_cast<size_t>(order[k])];
    std::memcpy(out.data() + static_cast<size_t>(to) * element,
                given.data() + static_cast<size_t>(from) * element, element);
    for (size_t k = order.size(); k-- > 0 && ++at[k] == shape[k];)
      at[k] = 0;
  }
  return out;
}

} // namespace kawara::graph::optimise
