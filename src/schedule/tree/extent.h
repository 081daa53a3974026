#pragma once

#include "poly/loop_values.h"

#include <optional>

namespace kawara::schedule {

using poly::ConstantRange;
using poly::loop_values;

/// Whether the values of `inner` do not depend on those of the loops from `outer` down to it.
bool is_rectangular_block(const poly::Scop&, const poly::Order&, poly::LoopId outer,
                          poly::LoopId inner);

/// The values of a loop when their ends are the same numbers for all parameters and all outer
/// iterations.
std::optional<ConstantRange> constant_range(const poly::Scop&, const poly::Order&, poly::LoopId);

/// Largest number of values from first to last that the loop runs through in one go; empty when
/// that depends on parameters.
std::optional<int64_t> longest_run(const poly::Scop&, const poly::Order&, poly::LoopId);

} // namespace kawara::schedule
