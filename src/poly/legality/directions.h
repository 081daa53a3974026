#pragma once

#include "poly/scop.h"

namespace kawara::poly {

/// Values that a difference takes over all pairs and parameter values; a missing end is unbounded.
struct Range {
  std::optional<int64_t> low, high;
  bool is_zero() const { return low == 0 && high == 0; }
  bool is_non_negative() const { return low && *low >= 0; }
  bool is_positive() const { return low && *low >= 1; }
};

/// How far apart the ends of one dependence are, loop by loop.
struct Direction {
  size_t dependence = 0;      ///< into scop.dependences
  std::vector<Range> by_loop; ///< sink minus source at each shared loop from `depth` on
};

/// Pairs of the dependence that agree in the rows of the first `depth` loops.
isl::map tied_above(const Scop&, const Order&, const Dependence&, size_t depth);

/// Directions of the dependences between `statements` that are not carried above `depth`.
std::vector<Direction> directions(const Scop&, const Order&, const std::vector<StmtId>& statements,
                                  size_t depth);

} // namespace kawara::poly
