#pragma once

#include <isl/cpp.h>

namespace kawara::poly {

// Relations between two functions on different domains: { x -> y : a(x) ? b(y) }.
isl::map less_map(const isl::pw_aff& a, const isl::pw_aff& b);
isl::map greater_map(const isl::pw_aff& a, const isl::pw_aff& b);
isl::map equal_map(const isl::pw_aff& a, const isl::pw_aff& b);

} // namespace kawara::poly
