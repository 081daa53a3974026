#pragma once

#include "poly/scop.h"

namespace kawara::validate {

/// Points of a set at some sizes; empty where there are none at any. A few sizes are tried by hand
/// first: of sets with points, isl finds one far sooner where the sizes are numbers.
isl::set points_at_some_sizes(const isl::set&, const std::vector<program::Param>&);

} // namespace kawara::validate
