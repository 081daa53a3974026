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
/// Their ends over all parameters and all outer iterations, where there are such numbers.
std::optional<ConstantRange> ends_of_values(const isl::set& values, size_t last);
/// Largest number of values from first to last that the loop runs through in one go, for any
/// parameters; empty when there is no such number.
std::optional<int64_t> longest_run(const isl::set& values, size_t last);
/// Whether that number is another one for other parameters.
bool run_depends_on_params(const isl::set& values, size_t last);

} // namespace kawara::poly
