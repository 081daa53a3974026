#pragma once

#include <isl/cpp.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kawara::poly {

/// The function x -> x[position] on a space.
isl::aff dimension_function(const isl::space& domain, unsigned position);
/// The same on `domain` alone.
isl::pw_aff dimension_function(const isl::set& domain, unsigned position);
/// The function x -> a parameter; nothing when the space does not have it.
std::optional<isl::aff> parameter_function(const isl::space& domain, const std::string& name);
/// Number of set dimensions (not parameters).
unsigned dimension_count(const isl::set&);
std::string tuple_name(const isl::set&);
/// The same points in a space with another name, which is not empty.
isl::set with_tuple_name(const isl::set&, const std::string& name);
std::string domain_tuple_name(const isl::map&);
std::string range_tuple_name(const isl::map&);

/// The parameter set as a set over the named parameters, in that order.
isl::set parameters_as_set(const isl::set& params, const std::vector<std::string>& names);
isl::map fix_parameter(const isl::map&, const std::string& name, int64_t value);
isl::set fix_parameter(const isl::set&, const std::string& name, int64_t value);

/// { x -> y : x in domain, y in range }
isl::map pairs_of(const isl::set& domain, const isl::set& range);

/// Pairs (from, to) as in `has_equal_dims` that some equality of every piece says, and nothing
/// else.
std::vector<std::pair<unsigned, unsigned>> plainly_equal_dims(const isl::map&);
/// Is dimension `from` of the first the same as dimension `to` of the second in every pair?
bool has_equal_dims(const isl::map&, unsigned from, unsigned to);

/// Written alike: equal without a question to integer programming. May miss equal sets.
bool is_plainly_equal(const isl::set&, const isl::set&);

/// Every dimension has its own bounds, whatever the others are. May miss boxes written otherwise.
bool is_box(const isl::set&);

/// Smallest and largest value of a dimension over all parameter values; nothing when unbounded.
std::optional<int64_t> dimension_min(const isl::set&, unsigned position);
std::optional<int64_t> dimension_max(const isl::set&, unsigned position);

/// The same of a function on the set's points.
std::optional<int64_t> least_of(const isl::aff&, const isl::set&);
std::optional<int64_t> greatest_of(const isl::aff&, const isl::set&);

/// Coordinates of the lexicographically smallest point; the set must be bounded from below and
/// not empty.
std::vector<int64_t> first_point(const isl::set&);

/// An affine function taken apart: (constant + sum of coefficient * what) / denominator.
struct AffineParts {
  int64_t denominator = 1;
  int64_t constant = 0;
  std::vector<int64_t> dimensions;                         ///< by position
  std::vector<std::pair<std::string, int64_t>> parameters; ///< name, coefficient
  std::vector<std::pair<isl::aff, int64_t>> divisions;     ///< the aff is rounded down
};
AffineParts parts_of(const isl::aff&);

} // namespace kawara::poly
