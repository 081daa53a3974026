#pragma once

#include "estimate/bounds/subspace.h"
#include "program/program.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kawara::estimate {

/// Elements of one tensor that a statement touches in every iteration, as a linear map of its
/// iterators; constants are left out.
struct AccessMap {
  uint32_t tensor = 0;
  FractionMatrix rows; ///< one for each dimension of the tensor
};

/// What an iteration of a statement needs to have at hand.
struct StatementAccesses {
  std::string name;
  double instances = 0;
  /// By iterator: how many values it can take; nothing where that is not known.
  std::vector<std::optional<double>> extents;
  std::vector<AccessMap> maps; ///< no two of the same rows for one tensor
};

/// The accesses of each statement, at these sizes: reads, and of updates the element that is
/// updated. Left out is what an iteration may do without: reads on one side of a choice, elements
/// that are only written, indices that are no sums of iterators.
std::vector<StatementAccesses> statement_accesses(const program::Program&,
                                                  std::span<const int64_t> sizes,
                                                  std::span<const double> instances);

} // namespace kawara::estimate
