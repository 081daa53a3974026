#include "schedule/auto/facts/vector_loop.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

/// The larger the better as the vector loop; negative: not at all.
int vector_worth(const NestFacts& facts, size_t k) {
  if (k < facts.fixed || (!facts.is_parallel[k] && !facts.is_reduction[k]))
    return -1;
  const Strides& s = facts.strides[k];
  if (facts.extents[k] < 4)
    return -1;
  int worth = 100 + 2 * s.unit + s.none - 12 * s.far - 24 * s.far_writes;
  if (s.writes_same_element)
    worth -= 3;
  return std::max(worth, 0);
}

} // namespace

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
