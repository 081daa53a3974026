#include "schedule/auto/product/register_tile.h"

#include <algorithm>
#include <limits>

namespace kawara::schedule {
namespace {

/// What a step costs besides its multiply-adds, in multiply-adds.
struct StepCosts {
  int64_t busy;       ///< fewer accumulators leave pipelines waiting for each other
  double row, vector; ///< to bring in one register of the left and of the right operand
  double flow =
      0; ///< for a vector of the right operand to come from the L2, while multiply-adds run
};

/// Where multiply-adds take a lane of a register (16-byte vectors), one load brings several rows.
/// Elsewhere a row is an element from the L1, a vector a whole line that mostly comes from the
/// L2. To gather many rows at once costs more than few: with wide vectors, tiles of 8 x 3 and 6
/// x 4 were 4 to 20 % faster than 14 x 2 then, and full register files slower. Rows that are read
/// unpacked come from a line each: 9 x 3 was 5 % faster than 13 x 2. With elements of two
/// bytes, which are stored twice in the copy, 6 x 4 was as fast as 13 x 2 and up to 20 % faster
/// than 8 x 3 and 9 x 3. Fewer than six rows are counted as waiting for the L2: with 16 threads 4 x
/// 6 took a quarter longer than 6 x 4.
StepCosts step_costs(const target::Cpu& cpu, const EdgeCosts& edges, int64_t lanes) {
  constexpr double kFlow = 6;
  if (cpu.vector_bytes <= 16)
    return {15, 0.46, 0.85};
  if (cpu.vector_bytes / lanes == 2)
    return {16, 1.25, 1.25, kFlow};
  if (edges.is_in_place)
    return {16, 0.5, 1.0, kFlow};
  return edges.is_gathered ? StepCosts{16, 0.5, 1.25, kFlow} : StepCosts{16, 0.25, 1.25, kFlow};
}

/// Registers for accumulators and operands.
int64_t room_for(const target::Cpu& cpu, const EdgeCosts& edges) {
  return cpu.vector_bytes <= 16 || edges.is_gathered ? std::min<int64_t>(cpu.vector_registers, 30)
                                                     : cpu.vector_registers;
}

/// Registers that hold operands besides one row of vectors.
constexpr int64_t kOperandRegisters = 2;
/// Longer reductions are cut: a panel of the right operand should stay near the L1.
constexpr int64_t kDeepest = 1024;
/// Fewer steps than this are not worth loading and storing a tile's results once more.
constexpr int64_t kShallowest = 384;
/// With fewer tiles that use a panel one after the other, it need not stay in the nearest cache.
constexpr int64_t kFewTiles = 4;
/// Fewer rows than this leave nothing but columns to share.
constexpr int64_t kFewTileRows = 4;

int64_t parts(int64_t extent, int64_t size) { return (extent + size - 1) / size; }

/// Nearly equal parts of at most `largest`, at least `wanted` of them, in multiples of `unit`.
int64_t even_part(int64_t extent, int64_t largest, int64_t wanted, int64_t unit) {
  const int64_t units = std::max<int64_t>(1, parts(extent, unit));
  const int64_t most = std::max<int64_t>(1, largest / unit);
  int64_t count = std::max(parts(units, most), std::min(wanted, units));
  if (wanted > 1 && count > wanted)
    count = parts(count, wanted) * wanted;
  return parts(units, std::min(count, units)) * unit;
}

/// Parts of a reduction, all of them equal where a part of at least half the length divides it: the
/// last one would be code of its own, whose loop is not unrolled to its end.
int64_t depth_part(int64_t depth, int64_t largest) {
  constexpr int64_t kUnit = 8;
  const int64_t fewest = parts(depth, std::max(largest, kUnit));
  for (int64_t count = fewest; count < 2 * fewest; ++count)
    if (depth % (count * kUnit) == 0)
      return depth / count;
  return even_part(depth, largest, 1, kUnit);
}

/// Longer reductions than this and a quarter are cut.
int64_t usual_depth(int64_t element_bytes) {
  return std::max<int64_t>(64, kDeepest * 4 / std::max<int64_t>(4, element_bytes));
}

/// Steps of a reduction that is cut which run at once. Few tiles that use a panel of the right
/// operand one after the other gain less from finding it in the nearest cache than from having
/// their results in registers all the time.
int64_t deepest_panel(const target::Cpu& cpu, const RegisterTile& tile, int64_t step_bytes,
                      int64_t element_bytes, int64_t rows, StaysInL1 near) {
  const int64_t usual = usual_depth(element_bytes);
  if (parts(rows, tile.rows) < kFewTiles)
    return std::max(usual, cpu.caches.l2 / 2 / step_bytes);
  const int64_t of_panel = cpu.caches.l1d / 2 / step_bytes;
  if (near == StaysInL1::Panel && of_panel >= kShallowest)
    return of_panel;
  // Of the panel but a few lines at a time.
  const int64_t of_rows = cpu.caches.l1d * 7 / 8 / (tile.rows * element_bytes);
  return near == StaysInL1::Rows ? std::clamp(of_rows, kShallowest, usual) : usual;
}

/// How much more than its part the thread with the most tiles has.
double unevenness(int64_t tiles, const TileShares& shares) {
  const int64_t all = std::max<int64_t>(1, tiles * shares.results);
  return static_cast<double>(parts(all, shares.threads) * shares.threads) /
         static_cast<double>(all);
}

} // namespace

double tile_steps(const target::Cpu& cpu, const RegisterTile& tile, int64_t lanes, int64_t rows,
                  int64_t columns, const EdgeCosts& edges) {
  const StepCosts costs = step_costs(cpu, edges, lanes);
  const auto step_of = [&](int64_t high, int64_t vectors) {
    // Tiles at an edge are waited for, where they are few beside the others.
    const bool is_seldom = high < tile.rows && rows / tile.rows >= kFewTiles;
    const double flow = is_seldom ? 0 : costs.flow * static_cast<double>(vectors);
    return std::max(static_cast<double>(std::max(high * vectors, costs.busy)), flow) +
           costs.row * static_cast<double>(high) + costs.vector * static_cast<double>(vectors);
  };
  const int64_t width = tile.vectors * lanes;
  const auto full_rows = static_cast<double>(rows / tile.rows);
  const auto full_columns = static_cast<double>(columns / width);
  const int64_t rows_left = rows % tile.rows, vectors_left = parts(columns % width, lanes);
  if (edges.is_apart) {
    const auto strip = [&](int64_t high) {
      return full_columns * step_of(high, tile.vectors) +
             (vectors_left == 0 ? 0 : step_of(high, vectors_left));
    };
    return full_rows * strip(tile.rows) + (rows_left == 0 ? 0 : strip(rows_left));
  }
  const double full = step_of(tile.rows, tile.vectors);
  const double row_edge = rows_left == 0     ? 0
                          : edges.rows_apart ? step_of(rows_left, tile.vectors) / full
                                             : edges.rows;
  const bool is_whole = edges.columns_apart && columns % lanes == 0;
  const double column_edge = vectors_left == 0 ? 0
                             : is_whole        ? step_of(tile.rows, vectors_left) / full
                                               : edges.columns;
  return full * (full_rows + row_edge) * (full_columns + column_edge);
}

namespace {

/// Few rows wait for the columns of the right operand, whatever they do with them: those of the
/// thread with the most, and one tile that it is late. One row by 4096 x 4096 took 0.24 ms in tiles
/// of 64 columns, 0.37 with one of 256 for each of 16 threads.
double columns_awaited(const RegisterTile& tile, int64_t rows, int64_t columns) {
  // So many accumulators wait for each other no longer than for memory.
  constexpr int64_t kFewest = 3, kFew = 8;
  const int64_t high = std::min(tile.rows, rows), needed = rows == 1 ? kFewest : kFew;
  const int64_t waits = parts(needed, high * tile.vectors) + tile.rows - high;
  return static_cast<double>(parts(rows, high) * columns * waits);
}

/// Steps of the threads' tiles together, as if each had as many as the one with the most.
double shared_steps(const target::Cpu& cpu, const RegisterTile& tile, int64_t lanes, int64_t rows,
                    int64_t columns, const EdgeCosts& edges, const TileShares& shares) {
  const int64_t width = tile.vectors * lanes,
                tiles = parts(rows, tile.rows) * parts(columns, width);
  if (shares.threads == 1 || rows >= kFewTileRows)
    return tile_steps(cpu, tile, lanes, rows, columns, edges) * unevenness(tiles, shares);
  // Every thread has tiles side by side; the last tile of all may be a part.
  const int64_t most = parts(parts(columns, width), shares.threads) * width;
  const int64_t last = most - (parts(columns, width) * width - columns);
  if (cpu.vector_bytes > 16)
    return columns_awaited(tile, rows, std::max(most, last) + width);
  return static_cast<double>(shares.threads) *
         std::max(tile_steps(cpu, tile, lanes, rows, most, edges),
                  tile_steps(cpu, tile, lanes, rows, last, edges));
}

} // namespace

RegisterTile register_tile(const target::Cpu& cpu, int64_t lanes, int64_t rows, int64_t columns,
                           const EdgeCosts& edges, const TileShares& shares) {
  RegisterTile best;
  double fewest = std::numeric_limits<double>::infinity();
  const int64_t room = room_for(cpu, edges);
  // Few rows leave room for more vectors side by side. A tile wider than the columns would take a
  // neighbour's as well.
  const int64_t widest =
      std::min({rows < kFewTileRows ? 24 / std::max<int64_t>(rows, 1) : 6, edges.most_vectors,
                std::max<int64_t>(1, parts(columns, lanes))});
  const int64_t highest = edges.rows_apart ? std::min(edges.most_rows, rows) : edges.most_rows;
  for (int64_t vectors = 1; vectors <= widest; ++vectors)
    for (int64_t r = 1; r <= highest; ++r) {
      const RegisterTile tile{r, vectors};
      // The vectors of a single row are read by the multiply-adds themselves, where these take
      // memory.
      const int64_t held = r == 1 && cpu.vector_bytes > 16 ? 1 : vectors;
      if (r * vectors + held + kOperandRegisters > room)
        continue;
      const double cost = shared_steps(cpu, tile, lanes, rows, columns, edges, shares);
      const bool is_fewer = cost < fewest * 0.999;
      const bool is_larger = cost < fewest * 1.001 && r * vectors > best.rows * best.vectors;
      if (is_fewer || is_larger) {
        best = tile;
        fewest = std::min(fewest, cost);
      }
    }
  return best;
}

RegisterTile block_of_tiles(int64_t rows, int64_t columns, const TileShares& shares) {
  // One product waits for the one before it on the same tile for as long as four take; to load a
  // tile takes half as long as a product.
  constexpr int64_t kTiles = 8, kBusy = 4;
  constexpr double kLoad = 0.5;
  RegisterTile best;
  double fewest = std::numeric_limits<double>::infinity();
  for (int64_t r = 1; r <= kTiles; ++r)
    for (int64_t c = 1; r * c + (r == 1 ? 1 : c) + 1 <= kTiles; ++c) {
      const int64_t blocks = parts(rows, r) * parts(columns, c);
      const double step =
          static_cast<double>(std::max(r * c, kBusy)) + kLoad * static_cast<double>(r + c);
      const double cost = step * static_cast<double>(blocks) * unevenness(blocks, shares);
      if (cost < fewest * 0.999) {
        best = {r, c};
        fewest = cost;
      }
    }
  return best;
}

CacheBlocks cache_blocks(const target::Cpu& cpu, const RegisterTile& tile, int64_t lanes,
                         int64_t element_bytes, int64_t rows, int64_t columns, int64_t depth,
                         int64_t row_parts, int64_t column_parts, StaysInL1 near) {
  CacheBlocks blocks;
  const int64_t width = tile.vectors * lanes;
  const int64_t deepest =
      deepest_panel(cpu, tile, width * element_bytes, element_bytes, rows, near);
  const int64_t whole =
      near == StaysInL1::Rows ? std::max(deepest, usual_depth(element_bytes)) : deepest;
  blocks.depth = depth <= whole + whole / 4 ? depth : depth_part(depth, deepest);
  const int64_t line = blocks.depth * element_bytes;
  const int64_t shared = std::max(cpu.caches.l3, 4 * cpu.caches.l2);
  blocks.rows = even_part(rows, cpu.caches.l2 / 2 / line, row_parts, tile.rows);
  blocks.columns =
      even_part(columns, std::min<int64_t>(shared / 4 / line, 4096), column_parts, width);
  return blocks;
}

} // namespace kawara::schedule
