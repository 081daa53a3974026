#pragma once

#include "estimate/bounds/subspace.h"

#include <vector>

namespace kawara::estimate {

/// Exponents s with |V| <= product over j of |M_j V| ^ s_j for every finite set V of integer points
/// in n dimensions: the corners of the polytope of all of them, none where there are none or too
/// many to look at.
///
/// They are those with 0 <= s_j <= 1 and dim H <= sum of s_j dim(M_j H) for each subspace H
/// (Christ, Demmel, Knight, Scanlon, Yelick: Communication lower bounds and optimal algorithms for
/// programs that reference arrays, 2013); the H that sums and intersections of the kernels of the
/// M_j make are enough (Valdimarsson, 2010).
std::vector<Row> exponents(const std::vector<FractionMatrix>& maps, size_t n);

} // namespace kawara::estimate
