#include "kernel/analysis/extents.h"

#include "scalar/eval.h"
#include "support/check.h"

#include <algorithm>

namespace kawara::kernel {

std::vector<int64_t> extents_of(const Buffer& buffer, const std::vector<int64_t>& params) {
  std::vector<int64_t> extents;
  for (const Expr& e : buffer.shape) {
    const auto extent = scalar::evaluate_index(e, {}, params);
    KAWARA_CHECK(extent, "extent of " + buffer.name);
    extents.push_back(*extent);
  }
  return extents;
}

int64_t element_count(const std::vector<int64_t>& extents) {
  int64_t count = 1;
  for (const int64_t extent : extents)
    count *= std::max<int64_t>(extent, 0);
  return count;
}

} // namespace kawara::kernel
