#pragma once

#include "poly/loop_values.h"

#include <optional>

namespace kawara::schedule {

using poly::ConstantRange;
using poly::loop_values;

/// Assumed of a loop or a dimension whose extent depends on parameters, where orders of loops are
/// compared. What asks whether something is large enough (threads) or small enough (a cache)
/// assumes less or more for itself.
inline constexpr int64_t kUnknownExtent = 1000;

/// Whether the values of `inner` do not depend on those of the loops from `outer` down to it.
bool is_rectangular_block(const poly::Scop&, const poly::Order&, poly::LoopId outer,
                          poly::LoopId inner);

/// The ends of a loop's values over all parameters and all outer iterations, where there are such
/// numbers.
std::optional<ConstantRange> constant_range(const poly::Scop&, const poly::Order&, poly::LoopId);

/// Largest number of values from first to last that the loop runs through in one go, for any
/// parameters; empty when there is no such number.
std::optional<int64_t> longest_run(const poly::Scop&, const poly::Order&, poly::LoopId);
/// The same for default schedules. Empty also where the number differs between parameters and is
/// above `kUnknownExtent` for some: such a bound says too little to plan for.
std::optional<int64_t> known_run(const poly::Scop&, const poly::Order&, poly::LoopId);

} // namespace kawara::schedule
