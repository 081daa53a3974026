#pragma once

#include "poly/order.h"

namespace kawara::poly {

/// Invariants of an order; empty when well formed: each loop and statement stands in the tree once,
/// and no loop has the name of one around it.
std::vector<std::string> spec(const Order&);

} // namespace kawara::poly
