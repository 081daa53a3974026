#pragma once

#include "poly/loop_values.h"

#include <optional>

namespace kawara::poly {

/// The values of a loop that runs over one iterator of each statement below it, where that has the
/// same fixed values for all of them, whatever the loops around do: most loops of most programs, at
/// a fraction of what sets cost.
std::optional<ConstantRange> range_of_iterator(const Scop&, const Order&, LoopId);

/// Whether the values of `inner` do not depend on those of the loops from `outer` down to it, seen
/// from the text of one statement; nothing where sets have to be asked.
std::optional<bool> is_plain_rectangle(const Scop&, const Order&, LoopId outer, LoopId inner);

/// As `longest_run` of the loop's values; nothing where sets have to be asked.
std::optional<int64_t> longest_plain_run(const Scop&, const Order&, LoopId);

} // namespace kawara::poly
