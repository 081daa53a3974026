#pragma once

#include "scalar/iterators.h"

#include <vector>

namespace kawara::schedule {

using scalar::in_solved;
using scalar::mentions_iterator;

/// Iterators as functions of the values of `keys` (Iter k of the result: key k); empty where the
/// keys do not tell: a key tells an iterator when it is that iterator, or its negative, plus what
/// has no iterators.
std::vector<scalar::Expr> iterators_from_keys(const std::vector<scalar::Expr>& keys,
                                              size_t iterators);

} // namespace kawara::schedule
