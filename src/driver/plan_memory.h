#pragma once

#include "driver/plan.h"

namespace kawara::driver {

/// Gives every result of the plan's kernels a place in one block, such that values that exist at the same
/// time do not overlap. Results of the graph, and what later plans read, keep memory of their own.
void place_values(const graph::Graph&, Plan&);

} // namespace kawara::driver
