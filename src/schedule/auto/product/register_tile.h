#pragma once

#include "target/cpu.h"

namespace kawara::schedule {

/// Accumulators of a product: `rows` x `vectors` registers.
struct RegisterTile {
  int64_t rows = 1;
  int64_t vectors = 1;
};

/// What a tile at the edge costs, in full tiles: it computes all its elements and picks out those
/// that exist.
struct EdgeCosts {
  double rows = 1.5, columns = 1.5;
  bool is_apart = false;      ///< instead: what a tile of its size costs, as code of its own
  bool columns_apart = false; ///< so for whole vectors left over in a row
  bool is_gathered =
      false; ///< rows are copied element by element for each call, from lines far apart
  bool is_in_place = false; ///< or read unpacked, beside weights that are copied once
  int64_t most_rows = 14;
  bool rows_apart = false;   ///< the last rows alone cost what a tile of their size does
  int64_t most_vectors = 16; ///< side by side
};

/// Threads that share the tiles of `results` results of the same size.
struct TileShares {
  int64_t threads = 1, results = 1;
};

/// The tile that does `rows` x `columns` results in the fewest multiply-add steps, edges included,
/// among those that fit the register file and keep its pipelines busy; the fewest steps of the
/// thread that has the most tiles.
RegisterTile register_tile(const target::Cpu&, int64_t lanes, int64_t rows, int64_t columns,
                           const EdgeCosts& = {}, const TileShares& = {});

/// The same for an instruction whose operands are tiles (target::Intrinsic::is_tile), of which
/// there are eight registers: tiles of results, for a result of that many.
RegisterTile block_of_tiles(int64_t rows, int64_t columns, const TileShares& = {});

/// Vector multiply-adds that one step of the reduction costs with that tile, edges and loads
/// included.
double tile_steps(const target::Cpu&, const RegisterTile&, int64_t lanes, int64_t rows,
                  int64_t columns, const EdgeCosts& = {});

/// How a product's loops are cut for the caches; sizes are multiples of the register tile.
struct CacheBlocks {
  int64_t rows = 1, columns = 1, depth = 1;
};

/// What a part of the reduction shall leave in the L1, at the price of loading and storing results
/// more often.
enum class StaysInL1 : uint8_t {
  Nothing,
  Panel, ///< that of the right operand, in half of it
  Rows,  ///< those of one tile, read unpacked, beside a panel that passes by
};

/// Blocks for a product of rows x columns x depth: a block of the left operand stays in half of the
/// L2, one of the right operand in half of the third, a panel of it near the first. Blocks are of
/// nearly equal size; at least `row_parts` (`column_parts`) of them where the extents allow.
CacheBlocks cache_blocks(const target::Cpu&, const RegisterTile&, int64_t lanes,
                         int64_t element_bytes, int64_t rows, int64_t columns, int64_t depth,
                         int64_t row_parts, int64_t column_parts, StaysInL1);

} // namespace kawara::schedule
