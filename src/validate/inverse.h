#pragma once

#include "validate/cells.h"

#include <optional>

namespace kawara::validate {

/// The way back from an instance to where it runs: each dimension as a function of the instance (Iter d: its iterator d). Dimensions that
/// are the digits of an iterator, as tiles and lanes are, have one:
///
///   i = 8*i_0 + i_1, i_1 in 0..7                       i_0 = i//8, i_1 = i%8
///   i = i_0 + p, i_0 in multiples of 4, p in 0..3     i_0 = i//4*4, p = i%4
///
/// Every point of the dimensions is where its instance runs by these functions; so no two run the same. Nothing where that cannot
/// be read off the expressions.
struct Inverse {
  std::vector<scalar::Expr> dimensions;
  /// By iterator: it is what its digits add up to, whatever the instance. Otherwise that has to be asked (i = 2*j is even).
  std::vector<bool> is_sum_of_digits;
};
std::optional<Inverse> inverse_of(const std::vector<scalar::Expr>& iters, size_t dimensions,
                                  const DimensionRanges&,
                                  const std::map<uint32_t, int64_t>& steps = {});

} // namespace kawara::validate
