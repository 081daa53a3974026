#pragma once

#include "poly/scop.h"

namespace kawara::poly {

/// Some index of one tensor has one value here and another there: no element is the same.
bool are_apart(const Access&, const Access&);

/// The first iteration of `a` and the first one of `b`, or the last of the same element, touch one
/// element, and the one of `a` comes first in the order. Most pairs of accesses that have such
/// iterations have one of these two, and need not be looked for; numbers alone are compared.
bool meet_at_corners(const Scop&, const Order&, const Access& a, const Access& b);

} // namespace kawara::poly
