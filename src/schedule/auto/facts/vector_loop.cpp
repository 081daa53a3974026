#include "schedule/auto/facts/vector_loop.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

/// The larger the better as the vector loop; negative: not at all.
int vector_worth(const NestFacts& facts, size_t k) {
  if (k < facts.fixed || (!facts.is_parallel[k] && !facts.is_reduction[k]))
    return -1;
  constexpr int64_t kFewestLanes = 4;
  constexpr int kAnyLanes = 100; // so many far accesses outweigh that there are lanes at all
  if (facts.extents[k] < kFewestLanes)
    return -1;
  return std::max(kAnyLanes + lane_worth(facts.strides[k]), 0);
}

} // namespace

int lane_worth(const Strides& s) {
  constexpr int kUnit = 2, kFar = 12, kFarWrite = 24, kSum = 3;
  return kUnit * s.unit + s.none - kFar * s.far - kFarWrite * s.far_writes -
         (s.writes_same_element ? kSum : 0);
}

std::optional<size_t> best_vector_loop(const NestFacts& facts) {
  std::optional<size_t> best;
  for (size_t k = 0; k < facts.extents.size(); ++k)
    if (const int worth = vector_worth(facts, k); worth >= 0)
      // A tie goes to the inner loop: it is where the text has it.
      if (!best || worth >= vector_worth(facts, *best))
        best = k;
  return best;
}

} // namespace kawara::schedule
