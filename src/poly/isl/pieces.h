#pragma once

#include <isl/cpp.h>

#include <vector>

namespace kawara::poly {

/// Several pieces, some of which leave out values in between (`x % 2 = 0`). isl 0.25 joins such pieces wrongly
/// (coalesced.h), also on its own while it makes loops.
bool has_strided_pieces(const isl::set&);

/// A set around it: convex as far as its constraints show, with all values in between.
isl::set in_one_piece(const isl::set&);

/// `function >= 0`, or `function = 0`.
struct Constraint {
  isl::aff function;
  bool is_equality = false;
};
/// By piece; all existentially quantified variables as divisions.
std::vector<std::vector<Constraint>> constraints_of(const isl::set&);

} // namespace kawara::poly
