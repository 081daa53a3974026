#include "target/tile_clusters.h"

#include <gtest/gtest.h>

namespace kawara::target {
namespace {

constexpr int64_t kMultiprocessors = 132;

/// Tiles of 128 x 256, 38 x 17 of them, and a reduction of 71 steps over rows that begin within
/// cache lines.
TiledProduct large_product() {
  TiledProduct product;
  product.tiles = {17, 38, 1};
  product.rows = 128;
  product.columns = 256;
  product.steps = 71;
  product.brought = {128, 256};
  product.is_split = {true, true};
  return product;
}

TEST(TileClusters, blocks_share_the_larger_operand) {
  EXPECT_EQ(best_cluster(large_product(), kMultiprocessors), (TileCluster{1, 2}));
  TiledProduct wide = large_product();
  wide.tiles = {38, 1, 1};
  wide.steps = 200;
  EXPECT_EQ(best_cluster(wide, kMultiprocessors)->axis, 0U);
}

TEST(TileClusters, blocks_work_alone_where_lines_are_whole_or_work_is_short) {
  TiledProduct aligned = large_product();
  aligned.is_split = {false, false};
  EXPECT_EQ(best_cluster(aligned, kMultiprocessors), std::nullopt);
  TiledProduct shortened = large_product();
  shortened.tiles = {4, 8, 1};
  shortened.steps = 5;
  EXPECT_EQ(best_cluster(shortened, kMultiprocessors), std::nullopt);
  TiledProduct whole = large_product();
  whole.most_parts = {1, 1};
  EXPECT_EQ(best_cluster(whole, kMultiprocessors), std::nullopt);
}

TEST(TileClusters, four_blocks_need_places_for_all_at_once) {
  TiledProduct small = large_product();
  small.tiles = {2, 58, 1};
  small.rows = 64;
  small.columns = 128;
  small.brought = {64, 128};
  EXPECT_EQ(best_cluster(small, kMultiprocessors), (TileCluster{1, 4}));
  EXPECT_EQ(clusters_at_once(TileCluster{1, 4}, kMultiprocessors), 30);
  small.tiles = {2, 200, 1};
  EXPECT_EQ(best_cluster(small, kMultiprocessors)->blocks, 2);
}

TEST(TileClusters, rows_that_a_tensor_does_not_have_are_not_brought) {
  TiledProduct few = large_product();
  few.brought = {8, 256};
  EXPECT_LT(bring_time(few, std::nullopt), bring_time(large_product(), std::nullopt));
  EXPECT_LT(bring_time(few, TileCluster{1, 2}), bring_time(few, std::nullopt));
  EXPECT_EQ(turns_of(large_product(), std::nullopt, kMultiprocessors), 5);
  EXPECT_EQ(turns_of(large_product(), TileCluster{1, 2}, kMultiprocessors), 5);
}

} // namespace
} // namespace kawara::target
