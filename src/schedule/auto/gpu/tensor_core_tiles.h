#pragma once

#include "schedule/auto/gpu/plan.h"

namespace kawara::schedule {

/// Elements of the result that a block computes by a collective instruction.
struct CollectiveTile {
  int64_t rows = 0, lanes = 0;
};

/// A tile, the instruction for it, and in how many parts the reduction is done.
struct CollectiveChoice {
  CollectiveTile tile;
  std::string instruction;
  int64_t parts = 1;
  double cost = 0; ///< in multiply-adds of 2-byte elements, of one multiprocessor
};

/// The tile with the least time for all multiprocessors to finish, of a product of which there are
/// `batches`, with its reduction in so many parts; `stepped` is the loop that steps of the
/// reduction are taken along. Nothing where no instruction computes it, or none that the numerics
/// contract allows.
std::optional<CollectiveChoice> best_tile(const Schedule&, const Product&, size_t stepped,
                                          int64_t batches, int64_t parts, const Environment&);

/// Whether the reduction runs down the rows of the right operand, and tensor cores take it so.
bool is_right_transposed(const Schedule&, const Product&);

/// How many pieces of a size an extent has.
inline int64_t pieces_of(int64_t extent, int64_t size) { return (extent + size - 1) / size; }

} // namespace kawara::schedule
