#include "target/chain_tiles.h"

#include "support/integers.h"

#include <algorithm>
#include <array>

namespace kawara::target {
namespace {

constexpr int64_t kBox = 64; ///< columns of one row of swizzled shared memory, two bytes each
constexpr size_t kMostBoxes = 4;

/// Nanoseconds of a step by boxes of columns; 0 where registers do not hold it.
struct StepTime {
  ChainTile tile;
  std::array<double, kMostBoxes> nanoseconds;
};

/// Measured on an H200: 22 heads of 2304 rows, bf16 (docs/notes/gpu_attention.md, 18 November
/// 2026).
constexpr std::array<StepTime, 7> kStepTimes = {{
    {{64, 64}, {551, 781, 953, 1149}},
    {{64, 128}, {866, 1185, 0, 0}},
    {{128, 64}, {729, 1013, 1228, 1615}},
    {{128, 128}, {1379, 1725, 0, 0}},
    {{192, 64}, {979, 1399, 0, 0}},
    {{192, 128}, {1657, 0, 0, 0}},
    {{256, 64}, {1193, 0, 0, 0}},
}};

} // namespace

std::optional<double> chain_time(const TiledChain& chain, const ChainTile& tile,
                                 int64_t multiprocessors) {
  const auto known = std::find_if(kStepTimes.begin(), kStepTimes.end(),
                                  [&](const StepTime& step) { return step.tile == tile; });
  const auto boxes = static_cast<size_t>(ceil_div(chain.columns, kBox));
  if (known == kStepTimes.end() || boxes == 0 || boxes > kMostBoxes ||
      known->nanoseconds[boxes - 1] == 0)
    return std::nullopt;
  const int64_t down = ceil_div(chain.rows, tile.rows), tiles = chain.heads * down;
  const int64_t longest = ceil_div(chain.keys, tile.keys);
  int64_t steps = ceil_div(tiles, multiprocessors) * longest;
  if (chain.is_triangular) {
    // Blocks get long and short tiles in turns, so that all have about as many steps.
    int64_t all = 0;
    for (int64_t n = 1; n <= down; ++n)
      all += std::min(ceil_div(n * tile.rows, tile.keys), longest);
    steps = std::max(longest, ceil_div(chain.heads * all, multiprocessors));
  }
  return static_cast<double>(steps) * known->nanoseconds[boxes - 1] * 1e-3;
}

std::vector<ChainTile> chain_tiles(const TiledChain& chain, int64_t multiprocessors) {
  std::vector<std::pair<double, ChainTile>> timed;
  for (const StepTime& step : kStepTimes)
    if (const auto time = chain_time(chain, step.tile, multiprocessors))
      timed.emplace_back(*time, step.tile);
  std::stable_sort(timed.begin(), timed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<ChainTile> tiles;
  for (const auto& [time, tile] : timed)
    tiles.push_back(tile);
  return tiles;
}

} // namespace kawara::target
