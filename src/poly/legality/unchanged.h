#pragma once

#include "poly/scop.h"

#include <functional>

namespace kawara::poly {

/// Where answers are compared (poly/syntactic/comparison.h): dependences that were taken over from
/// an earlier scop, against the pairs that accesses have in sets. `is_kept` says of which pairs of
/// accesses they were taken over.
void compare_unchanged(const Scop&, const std::vector<Dependence>&,
                       const std::function<bool(const Access&, const Access&)>& is_kept);

} // namespace kawara::poly
