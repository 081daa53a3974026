#pragma once

#include "poly/order.h"
#include "poly/scop.h"

namespace kawara::kernel {

/// The order as an isl schedule tree: a one-member band for each loop with a mark above it that names
/// the loop, a sequence for each body of several nodes.
isl::schedule tree_from_order(const poly::Scop&, const poly::Order&);

/// The loop that a mark of `tree_from_order` names.
poly::LoopId loop_of_mark(const isl::id&);

} // namespace kawara::kernel
