#include "schedule/register_tile.h"

#include <algorithm>
#include <limits>

namespace kawara::schedule {
namespace {

/// A multiply-add takes about four cycles and up to four start in a cycle: fewer accumulators than this
/// leave pipelines waiting.
constexpr int64_t kBusyAccumulators = 16;
/// What it costs to bring in one register of an operand, in multiply-adds.
constexpr double kOperandCost = 0.5;
/// A tile at the edge computes all its cells and then picks out those that exist.
constexpr double kPartialCost = 1.5;
/// Registers that hold operands besides one row of vectors.
constexpr int64_t kOperandRegisters = 2;
/// Longer reductions are cut: a panel of the right operand should stay near the first cache.
constexpr int64_t kDeepest = 1024;

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

} // namespace

double tile_steps(const RegisterTile& tile, int64_t lanes, int64_t rows, int64_t columns) {
  const double each = static_cast<double>(std::max(tile.rows * tile.vectors, kBusyAccumulators)) +
                      kOperandCost * static_cast<double>(tile.rows + tile.vectors);
  const int64_t width = tile.vectors * lanes;
  const int64_t all = parts(rows, tile.rows) * parts(columns, width);
  const int64_t full = (rows / tile.rows) * (columns / width);
  return each * (static_cast<double>(full) + kPartialCost * static_cast<double>(all - full));
}

RegisterTile register_tile(const target::Cpu& cpu, int64_t lanes, int64_t rows, int64_t columns) {
  RegisterTile best;
  double fewest = std::numeric_limits<double>::infinity();
  const int64_t room = cpu.vector_registers >= 32 ? cpu.vector_registers - 2 : cpu.vector_registers;
  // Few rows leave room for more vectors side by side.
  const int64_t widest = rows < 4 ? 24 / std::max<int64_t>(rows, 1) : 6;
  for (int64_t vectors = 1; vectors <= std::min<int64_t>(widest, 16); ++vectors)
    for (int64_t r = 1; r <= 14; ++r) {
      const RegisterTile tile{r, vectors};
      if (r * vectors + vectors + kOperandRegisters > room)
        continue;
      const double cost = tile_steps(tile, lanes, rows, columns);
      const bool is_fewer = cost < fewest * 0.999;
      const bool is_larger = cost < fewest * 1.001 && r * vectors > best.rows * best.vectors;
      if (is_fewer || is_larger) {
        best = tile;
        fewest = std::min(fewest, cost);
      }
    }
  return best;
}

CacheBlocks cache_blocks(const target::Cpu& cpu, const RegisterTile& tile, int64_t lanes,
                         int64_t element_bytes, int64_t rows, int64_t columns, int64_t depth,
                         int64_t row_parts, int64_t column_parts) {
  CacheBlocks blocks;
  const int64_t width = tile.vectors * lanes;
  const int64_t deepest = std::max<int64_t>(64, kDeepest * 4 / std::max<int64_t>(4, element_bytes));
  blocks.depth = depth <= deepest + deepest / 4 ? depth : even_part(depth, deepest, 1, 8);
  const int64_t line = blocks.depth * element_bytes;
  const int64_t shared = std::max(cpu.caches.l3, 4 * cpu.caches.l2);
  blocks.rows = even_part(rows, cpu.caches.l2 / 2 / line, row_parts, tile.rows);
  blocks.columns =
      even_part(columns, std::min<int64_t>(shared / 4 / line, 4096), column_parts, width);
  return blocks;
}

} // namespace kawara::schedule
