#pragma once

#include "schedule/auto/facts/nest_facts.h"

#include <set>

namespace kawara::schedule {

/// Loops of a nest that combines whole columns of a tensor into one element each: `M[c] max= X[b,
/// c]` along b, c in lanes.
struct ColumnSums {
  size_t sum = 0, lanes = 0;
  /// Exponentials are taken of the elements less their greatest: that none is positive is seen
  /// where both walk in the same loops (kernel/math/bounded_exp).
  bool bounds_exponentials = false;
};

/// The nest as one of columns, where other statements map the tensor's elements, too (`E[b, c] =
/// exp(X[b, c] - M[c])`): all of them can walk along its rows, one after the other, which is how
/// memory likes to be read, and share them while they are in a cache.
std::optional<ColumnSums> column_sums(const Schedule&, const Nest&, const NestFacts&);

/// Gives outermost nests of columns the order of loops that walks along rows, and adds columns up
/// where their elements are made.
///
///   before   for b: for c: E[b, c] = ...
///            for c: for b: T[c] += E[b, c]
///   after    for b: for c: { E[b, c] = ...;  T[c] += E[b, c] }
///
/// Nests in `done` stay as they are.
Schedule with_walked_columns(Schedule, const std::set<poly::LoopId>& done, const Environment&);

} // namespace kawara::schedule
