#include "target/chain_tiles.h"

#include <gtest/gtest.h>

namespace kawara::target {
namespace {

constexpr int64_t kBlocksAtOnce = 132;

ChainTile best_of(const TiledChain& chain) { return chain_tiles(chain, kBlocksAtOnce).front(); }

TEST(ChainTiles, many_rows_share_keys_and_few_are_spread) {
  EXPECT_EQ(best_of({9200, 18, 9200, 64, false}), (ChainTile{192, 128}));
  EXPECT_EQ(best_of({2464, 2, 2464, 64, false}), (ChainTile{64, 128}));
  EXPECT_EQ(best_of({4096, 64, 4096, 128, false}), (ChainTile{128, 128}));
}

TEST(ChainTiles, the_last_turn_counts_as_a_whole_one) {
  // 182 tiles of 192 rows take two turns, 130 of 256 rows one.
  EXPECT_EQ(best_of({2560, 13, 2560, 64, false}), (ChainTile{256, 64}));
}

TEST(ChainTiles, triangles_are_shared_evenly) {
  const TiledChain whole{4096, 66, 4096, 128, false}, triangle{4096, 66, 4096, 128, true};
  const ChainTile tile{128, 128};
  const double share =
      *chain_time(triangle, tile, kBlocksAtOnce) / *chain_time(whole, tile, kBlocksAtOnce);
  EXPECT_GT(share, 0.5);
  EXPECT_LT(share, 0.55);
  // No block has less than the longest row of tiles.
  EXPECT_EQ(chain_time({1024, 1, 1024, 64, true}, tile, kBlocksAtOnce),
            chain_time({1024, 1, 1024, 64, false}, tile, kBlocksAtOnce));
}

TEST(ChainTiles, wide_columns_leave_registers_for_small_tiles_alone) {
  for (const ChainTile& tile : chain_tiles({4096, 64, 4096, 256, false}, kBlocksAtOnce))
    EXPECT_EQ(tile.keys, 64);
  EXPECT_EQ(chain_time({4096, 64, 4096, 256, false}, {192, 128}, kBlocksAtOnce), std::nullopt);
  EXPECT_TRUE(chain_tiles({4096, 64, 4096, 320, false}, kBlocksAtOnce).empty());
}

} // namespace
} // namespace kawara::target
