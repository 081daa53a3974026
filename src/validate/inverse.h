#pragma once

#include "validate/elements.h"

#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace kawara::validate {

/// The way back from an instance to where it runs: each dimension as a function of the instance
/// (Iter d: its iterator d). Dimensions that are the digits of an iterator, as tiles and lanes are,
/// have one:
///
///   i = 8*i_0 + i_1, i_1 in 0..7                       i_0 = i//8, i_1 = i%8
///   i = i_0 + p, i_0 in multiples of 4, p in 0..3     i_0 = i//4*4, p = i%4
///
/// A dimension that counts several loops in one, as joined parallel loops and blocks of a grid do,
/// stands for two: its quotient and its remainder.
///
///   i = n//3*16 + p, j = n%3, p in 0..15               n = 3*(i//16) + j where j is in 0..2
///
/// and several that are divided together, as threads and lanes that share a row are, stand for one:
/// their sum.
///
///   i = (4*t + p)//16, j = (4*t + p)%16, p in 0..3
///   t = (16*i + j)//4, p = (16*i + j)%4 where j is in 0..15
///
/// Every point of the dimensions is where its instance runs by these functions; so no two run the
/// same. Nothing where that cannot be read off the expressions.
struct Inverse {
  /// Dimension `dimension` is divisor * quotient + remainder; these two come after all others.
  struct Split {
    uint32_t dimension = 0, quotient = 0, remainder = 0;
    int64_t divisor = 1;
  };
  /// The sum of some dimensions is dimension `whole`, which comes after all others; they are its
  /// digits.
  struct Joint {
    uint32_t whole = 0;
    scalar::Expr sum;
    std::vector<std::pair<uint32_t, scalar::Expr>> digits; ///< in the whole
  };
  std::vector<scalar::Expr> dimensions;
  std::vector<std::variant<Split, Joint>>
      changes; ///< each may be of dimensions that earlier ones made
  /// By iterator: it is what its digits add up to, whatever the instance. Otherwise that has to be
  /// asked (i = 2*j is even).
  std::vector<bool> is_sum_of_digits;

  /// What is said of the dimensions, said of the instance.
  scalar::Expr of_instance(const scalar::Expr&) const;
  /// What of an instance has to hold besides: remainders are some.
  std::vector<scalar::Expr> conditions() const;
};
std::optional<Inverse> inverse_of(const std::vector<scalar::Expr>& iters, size_t dimensions,
                                  const DimensionRanges&,
                                  const std::map<uint32_t, int64_t>& steps = {});

} // namespace kawara::validate
