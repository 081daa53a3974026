#pragma once

#include "driver/plan/plan.h"

namespace kawara::driver {

/// What is known of all values after the call that a plan ends with, where the types and shapes of
/// its results follow from those of its operands. Nothing where they depend on elements, or the
/// plan ends otherwise.
std::optional<std::vector<Info>> infos_after_call(const graph::Graph&, const Plan&);

} // namespace kawara::driver
