#pragma once

#include <isl/cpp.h>

#include <vector>

namespace kawara::poly {

/// A set around it: convex as far as its constraints show, with the values in between that no piece leaves out
/// (`x % 2 = 0` in all of them).
isl::set in_one_piece(const isl::set&);

/// `function >= 0`, or `function = 0`.
struct Constraint {
  isl::aff function;
  bool is_equality = false;
};
/// By piece; all existentially quantified variables as divisions.
std::vector<std::vector<Constraint>> constraints_of(const isl::set&);

} // namespace kawara::poly
