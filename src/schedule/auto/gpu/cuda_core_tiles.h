#pragma once

#include "schedule/auto/gpu/plan.h"

namespace kawara::schedule {

/// Elements of the result per block, and of the reduction per step.
struct ProductTiles {
  int64_t rows, lanes, depth;
  bool is_collective = false;     ///< an instruction spreads them over threads
  int64_t down = 16, across = 16; ///< threads along rows and along lanes
  int64_t stages = 3;
  /// Of f32: the part of the plain cores' rate that a multiprocessor reaches with `flight` blocks
  /// at a time, and with one of them alone. 0: other types.
  double rate = 0, alone = 0;
  int64_t flight = 1;
  bool turns = true;             ///< operands along whose rows the reduction runs, in shared memory
  int64_t height = 4, width = 4; ///< neighbouring rows and lanes of a thread
};

/// Of several loops that reduce (a convolution's window and channels), the one that steps are taken
/// along.
size_t stepped_depth(const Product&);

/// Whether the reduction runs along the rows of an operand.
bool runs_along(const Schedule&, const Product&, uint32_t operand);

/// The order in which tiles are tried for a product that is not on tensor cores.
std::vector<ProductTiles> plain_tiles(const Schedule&, const Product&, int64_t batches,
                                      const target::Gpu&);

/// How long the parts of the reduction of a product of f32 should be; nothing when it is better
/// done in one go.
std::optional<int64_t> plain_part(const Schedule&, const Product&, const target::Gpu&);

} // namespace kawara::schedule
