#pragma once

#include "schedule/propose.h"

#include <string>
#include <vector>

namespace kawara::schedule {

/// Put loops of a nest into the order listed, outermost first: `reorder(k, i, j)`.
///
///   before   for i: for j: for k:     S(i, j, k)
///   after    for k: for i: for j:     S(i, j, k)
///
/// Loops of the nest that are not listed keep their place; the listed ones share out the places
/// that they had. Marks move with their loop.
///
/// Needs    all loops in one perfect nest.
/// Legal    when every dependence still goes forward.
/// Refuses  something between the loops (K0210), loops not nested (K0211), one loop twice
///          (K0220).
Proposed propose(const Schedule&, const Reorder&, const Environment&);

/// `loops`, outermost first, in the places that they occupy in their perfect nest.
Proposed reordered(const Schedule&, const std::vector<poly::LoopId>& loops, const Directive&,
                   const std::string& request);

} // namespace kawara::schedule
