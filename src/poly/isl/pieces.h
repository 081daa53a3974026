#pragma once

#include <isl/cpp.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace kawara::poly {

/// A set around it: convex as far as its constraints show, with the values in between that no piece
/// leaves out
/// (`x % 2 = 0` in all of them).
isl::set in_one_piece(const isl::set&);

/// How many divisions the pieces of a set in a question may have together. Programs have a handful.
inline constexpr unsigned kMostDivisions = 32;
/// The same points, with every existentially quantified variable as a division: only of divisions
/// isl sees that two are the same. Without, a set that meets itself (as domains and accesses do in
/// every directive) has each of them twice. With more than `kMostDivisions` of them the question
/// around is given up: isl eliminates one after the other, each time between all pairs of bounds,
/// in what it counts as a single operation.
isl::set with_divisions(const isl::set&);

/// A set around it: without what `known`, a set of parameters, already demands of them. The same
/// for parameters in `known`.
isl::set without_known(const isl::set&, const isl::set& known);

/// `function >= 0`, or `function = 0`.
struct Constraint {
  isl::aff function;
  bool is_equality = false;
};
/// By piece; all existentially quantified variables as divisions.
std::vector<std::vector<Constraint>> constraints_of(const isl::set&);

/// Products of two such numbers, and sums of many of these, are far from where integers end.
inline constexpr int64_t kLargestPlain = int64_t{1} << 28;
/// `sum of factor * dimension + constant >= 0`, or `= 0`.
struct PlainConstraint {
  std::vector<int64_t> factors; ///< by dimension
  int64_t constant = 0;
  bool is_equality = false;
  bool has_more =
      false; ///< parameters, divisions or numbers that are too large: the rest says little
};
/// The constraints of a set in one piece as numbers, nothing asked; nothing for one in several.
std::optional<std::vector<PlainConstraint>> plain_constraints(const isl::set&);

/// The ends of a dimension, as functions of the parameters.
isl::pw_aff least_value(const isl::set&, unsigned position);
isl::pw_aff largest_value(const isl::set&, unsigned position);

} // namespace kawara::poly
