#pragma once

#include "program/program.h"

namespace kawara::program {

/// What elements of a tensor can hold so that indices that are read from it stay inside.
struct IndexValues {
  int64_t low = 0, high = 0; ///< both included; `high` < `low`: nothing fits
  bool ascends = false;      ///< ends of ranges: each element is at least the one before

  /// For element number `at` of `elements`; looks random and depends on the arguments alone.
  int64_t value(int64_t at, int64_t elements, uint64_t seed) const;
};

/// By tensor; nothing for those that no index and no bound is read from. `shapes` are those of the
/// tensors at `params`.
std::vector<std::optional<IndexValues>>
index_values(const Program&, const std::vector<int64_t>& params,
             const std::vector<std::vector<int64_t>>& shapes);

} // namespace kawara::program
