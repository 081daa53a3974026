#pragma once

#include "poly/scop.h"

#include <optional>

namespace kawara::poly {

/// The order that isl's scheduler finds for the scop's dependences (reductions relaxed as the
/// contract allows): producers near consumers, and outermost parallel loops where possible; where
/// both cannot be had, `prefers_parallel` decides. Nothing when an index steps over elements
/// (`2*i`: not asked then), the quota runs out, the scheduler gives up, or a row cannot be written
/// as one expression.
std::optional<Order> scheduled_order(const Scop&, bool prefers_parallel,
                                     unsigned long quota = kDefaultQuota);

} // namespace kawara::poly
