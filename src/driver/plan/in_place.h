#pragma once

#include "driver/plan/plan.h"

namespace kawara::driver {

/// Lets results of kernels take over the memory of operands that end there, and places all values
/// of the plan.
///
///   before   y = Conv(x, w) + r        x, r and y in the block at that time
///   after    the same with y for r     r is read where it is written (poly/legality/in_place.h)
///
/// Only where the block gets smaller: code that writes what it reads cannot use some kinds of
/// stores. Before kernels are compiled: programs of groups change. Says what it did, and why not,
/// in `Plan::in_place`.
void place_in_place(const graph::Graph&, Plan&);

} // namespace kawara::driver
