#pragma once

#include "scalar/expr.h"

#include <isl/cpp.h>
#include <optional>
#include <utility>
#include <vector>

namespace kawara::poly {

/// By iterator of a domain: the same value as a function of other iterators that have none, as its constraints show it. Without
/// expression: it has none. Directives make such domains when they put loops around what a statement needs.
///
///   { S[b, i] : 0 <= i <= 511 and 32 b <= i <= 32 b + 31 }      b: i // 32
///   { S[h, i, x] : x = h and ... }                               x: h
///
/// May miss some. Rows and indices that say the same in other words then look alike (`in_own_words`).
std::vector<scalar::Expr> definitions_of(const isl::set& domain);

/// The first and the last value of an iterator that takes all values between them whatever the other iterators are, those apart that it
/// defines, and has the same ones for all parameters, as constraints show it. May miss some.
std::optional<std::pair<int64_t, int64_t>> free_range(const isl::set& domain, uint32_t iterator);
/// Values that an iterator has, or some around them, as constraints on it alone show it.
std::optional<std::pair<int64_t, int64_t>> bounds_of_iterator(const isl::set& domain,
                                                              uint32_t iterator);

/// An iterator with those that constraints tie it to, and all values that they have together, whatever the other iterators are.
struct Bundle {
  std::vector<bool> has; ///< by iterator
  std::vector<std::vector<int64_t>>
      points; ///< values by iterator, 0 for the others; in lexicographic order
};
/// Nothing where parameters or divisions are involved, or there are more than `most` points.
std::optional<Bundle> bundle_of(const isl::set& domain, uint32_t iterator, int64_t most);

/// Whether two functions have different values in some iteration, of a few that are tried; false where none shows it.
bool differ_somewhere(const scalar::Expr&, const scalar::Expr&, const isl::set& domain);

/// The expression with every iterator that has a definition replaced by it.
scalar::Expr in_own_words(const scalar::Expr&, const std::vector<scalar::Expr>& definitions);

} // namespace kawara::poly
