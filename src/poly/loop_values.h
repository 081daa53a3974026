#pragma once

#include "poly/scop.h"

#include <optional>

namespace kawara::poly {

/// { [outer rows..., row of loop] }: the values that a loop and those around it take, over all
/// statements below it.
isl::set loop_values(const Scop&, const Order&, LoopId);

struct ConstantRange {
  int64_t low = 0, high = 0; ///< both inclusive
  friend bool operator==(const ConstantRange&, const ConstantRange&) = default;
};

// Of `loop_values` of a loop at depth `last`.

/// Whether the values do not depend on those of the loops from depth `first` on.
bool is_rectangle(const isl::set& values, size_t first, size_t last);
/// Their ends, where these are the same numbers for all parameters and all outer iterations.
std::optional<ConstantRange> ends_of_values(const isl::set& values, size_t last);
/// Largest number of values from first to last that the loop runs through in one go; empty when
/// that depends on parameters.
std::optional<int64_t> longest_run(const isl::set& values, size_t last);

} // namespace kawara::poly
