#pragma once

#include "scalar/expr.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace kawara::validate {

// Indices of elements as expressions: dimensions of a place (place.h) are Iters.

/// Stands for the lane of a variable, beyond every dimension.
inline constexpr uint32_t kLane = 1U << 20U;

/// Dimension `from` becomes `to`.
scalar::Expr with_dimension(const scalar::Expr&, uint32_t from, uint32_t to);
/// Whether one of the dimensions `from` to `end - 1` is in the list.
bool uses_dimensions(const std::vector<scalar::Expr>&, uint32_t from, uint32_t end);

/// What a vector of indices is in lane `lane`; nothing where it is no index expression.
scalar::Expr in_lane(const scalar::Expr&, const scalar::Expr& lane);

/// An index with equal terms added up; far cheaper than all that `simplify` knows.
scalar::Expr tidy(const scalar::Expr&);
/// a - b.
scalar::Expr difference_of(const scalar::Expr& a, const scalar::Expr& b);
/// a - b, two places in row-major order, as a sum of products of sizes with what is returned: where
/// all that is zero, they are equal; where it is one, nowhere else.
std::vector<scalar::Expr> differences_by_stride(const scalar::Expr& a, const scalar::Expr& b);
bool are_zero(const std::vector<scalar::Expr>& differences);
bool are_same(const std::vector<scalar::Expr>&, const std::vector<scalar::Expr>&);
/// No division and no remainder in it.
bool is_sum(const scalar::Expr&);

/// Smallest and largest value of dimensions.
using DimensionRanges = std::map<uint32_t, std::pair<int64_t, int64_t>>;
/// What comparisons of a dimension with a number say.
DimensionRanges ranges_in(const std::vector<scalar::Expr>& conditions);
/// Distance between values of dimensions that take multiples of a number only.
std::map<uint32_t, int64_t> steps_in(const std::vector<scalar::Expr>& conditions);
/// Divisions and remainders that the ranges decide are evaluated: (16*i + j)//16 is i for j in
/// 0..15.
scalar::Expr folded(const scalar::Expr&, const DimensionRanges&);

/// How many loops two places have in common, by the loops' numbers.
size_t common_loops(const std::vector<uint32_t>&, const std::vector<uint32_t>&);

} // namespace kawara::validate
