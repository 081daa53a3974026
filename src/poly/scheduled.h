#pragma once

#include "poly/scop.h"

#include <optional>

namespace kawara::poly {

/// The order that isl's scheduler finds for the scop's dependences (reductions relaxed as the contract
/// allows): outermost parallel loops where possible, producers near consumers. Nothing when the
/// quota runs out or a row cannot be written as one expression.
std::optional<Order> scheduled_order(const Scop&, unsigned long quota = kDefaultQuota);

} // namespace kawara::poly
