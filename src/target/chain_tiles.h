#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace kawara::target {

/// A chain of two products in one pass (attention): rows of the first operand against all keys, in
/// tiles.
struct TiledChain {
  int64_t rows = 0;           ///< of one head
  int64_t heads = 1;          ///< each with rows of its own
  int64_t keys = 0;           ///< of the longest row
  int64_t columns = 0;        ///< of the wider of both products' operands
  bool is_triangular = false; ///< each row has one key more than the one before
};

/// Rows of a block's tile, 64 for each warpgroup, and keys of one step.
struct ChainTile {
  int64_t rows = 0, keys = 0;
  friend bool operator==(const ChainTile&, const ChainTile&) = default;
};

/// Microseconds that the chain takes where each multiprocessor has one block at a time. Nothing for
/// tiles that registers do not hold. Times of steps were measured (docs/notes/gpu_attention.md).
std::optional<double> chain_time(const TiledChain&, const ChainTile&, int64_t multiprocessors);

/// All tiles for chains of that many columns, the fastest first.
std::vector<ChainTile> chain_tiles(const TiledChain&, int64_t multiprocessors);

} // namespace kawara::target
