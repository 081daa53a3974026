#pragma once

#include "tune/search/strategy.h"

namespace kawara::tune {

/// Evolution that tries most children on a model, and measures those that it likes best. The first
/// batches are small: what the model learns from them is worth more than their points. `model` is
/// what earlier searches have learnt.
std::unique_ptr<Strategy> make_guided(Space&, uint64_t seed, const CostModel& model);

} // namespace kawara::tune
