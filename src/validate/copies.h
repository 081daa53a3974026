#pragma once

#include "scalar/expr.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace kawara::validate {

/// A statement of a kernel with one of its origins, in dimensions: the loops around, then the
/// origin's points.
struct Leaf {
  uint32_t statement = 0;
  std::vector<scalar::Expr> iters, points;
  uint32_t position = 0, last = 0;
  bool is_padded = false, is_per_thread = false;
  bool is_scan = false; ///< what is stored are running values: each lane, the last point, comes
                        ///< after the one before it
};

/// Copies of one leaf at constant distances: those that fill a grid become points of one leaf.
class Copies {
public:
  explicit Copies(const Leaf& first);
  /// One more, where it is a copy of the first.
  bool take(const Leaf&);
  /// One leaf, if they fill a grid; else each by itself. `loops`: how many dimensions are loops.
  std::vector<Leaf> joined(size_t loops) const;
  std::vector<Leaf> run_in_subprocess() const;

private:
  /// Evenly spaced values along a dimension.
  struct Spread {
    int64_t least = 0, step = 1, count = 1;
  };
  std::optional<Spread> spread(size_t dimension) const;

  Leaf first_;
  std::vector<std::vector<int64_t>> distances_;
  std::vector<uint32_t> positions_;
};

} // namespace kawara::validate
