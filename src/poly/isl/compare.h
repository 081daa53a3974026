#pragma once

#include <isl/cpp.h>

namespace kawara::poly {

// Relations between two functions on different domains: { x -> y : a(x) ? b(y) }.
isl::map less_map(const isl::pw_aff& a, const isl::pw_aff& b);
isl::map greater_map(const isl::pw_aff& a, const isl::pw_aff& b);
isl::map equal_map(const isl::pw_aff& a, const isl::pw_aff& b);

/// The space of the pairs of a relation as points: dimensions of the first, then of the second.
isl::space points_of_pairs(const isl::space& relation);
// The same relations, of functions on such points: far cheaper, where the functions have no cases.
isl::map less_map(const isl::aff& a, const isl::aff& b);
isl::map greater_map(const isl::aff& a, const isl::aff& b);
isl::map equal_map(const isl::aff& a, const isl::aff& b);

} // namespace kawara::poly
