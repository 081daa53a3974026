#pragma once

#include "schedule/auto/facts/nest_facts.h"

namespace kawara::schedule {

/// The larger the better in lanes, by how accesses move: loads and stores of single elements cost
/// several vectors, a sum that stays in place has its lanes added up at the end.
int lane_worth(const Strides&);

/// The loop of the nest that runs in lanes; nothing where none can.
std::optional<size_t> best_vector_loop(const NestFacts&);

/// A vector loop is cut for threads, where no other loop is shared, if it has at least so many
/// iterations.
inline constexpr int64_t kLongLanes = 512;

/// Terms of a loop from which on it pays to have sums in so many lanes, and to add these up at the
/// end.
inline int64_t fewest_terms(int64_t lanes) {
  constexpr int64_t kManyVectors = 64;
  return kManyVectors * lanes;
}

} // namespace kawara::schedule
