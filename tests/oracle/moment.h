#pragma once

#include "oracle/enumerate.h"
#include "poly/order.h"

#include <cstdint>
#include <vector>

namespace kawara::oracle {

/// When an instance runs: (position, row, position, row, ..., position) from the root to the leaf.
/// Moments compare lexicographically.
using Moment = std::vector<int64_t>;

/// Where a statement stands in a loop tree.
struct Path {
  std::vector<poly::LoopId> loops;
  std::vector<int64_t> positions; ///< one more than loops
};
Path path_in(const poly::Order&, uint32_t statement);

/// Moments of the instances, in their order.
std::vector<Moment> moments_of(const poly::Order&, const std::vector<Instance>&,
                               const std::vector<int64_t>& params);

} // namespace kawara::oracle
