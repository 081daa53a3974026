#include "schedule/auto/product/register_tile.h"

#include <gtest/gtest.h>

namespace kawara::schedule {
namespace {

target::Cpu cpu(int64_t vector_bytes, int64_t registers) {
  target::Cpu cpu;
  cpu.vector_bytes = vector_bytes;
  cpu.vector_registers = registers;
  return cpu;
}

int64_t registers_of(const RegisterTile& tile) { return tile.rows * tile.vectors + tile.vectors; }

TEST(RegisterTile, FitsTheRegisterFile) {
  for (const int64_t bytes : {16, 32, 64})
    for (const int64_t registers : {16, 32})
      for (const int64_t rows : {1, 3, 7, 49, 512})
        for (const int64_t columns : {5, 64, 1000})
          for (const bool is_gathered : {false, true}) {
            EdgeCosts edges;
            edges.is_gathered = is_gathered;
            const RegisterTile tile =
                register_tile(cpu(bytes, registers), bytes / 4, rows, columns, edges);
            if (tile.rows > 1) { // the vectors of a single row need not be held
              EXPECT_LE(registers_of(tile), registers - 2) << rows << " x " << columns;
            }
          }
}

TEST(RegisterTile, GathersFewRowsAtOnceWithWideVectors) {
  EdgeCosts edges;
  const target::Cpu wide = cpu(64, 32);
  const RegisterTile read = register_tile(wide, 16, 512, 512, edges);
  edges.is_gathered = true;
  const RegisterTile gathered = register_tile(wide, 16, 512, 512, edges);
  EXPECT_LT(gathered.rows, read.rows);
  EXPECT_GT(gathered.vectors, read.vectors);
  // Narrow vectors take several rows from one register, wherever these came from.
  const target::Cpu narrow = cpu(16, 32);
  const RegisterTile lanes = register_tile(narrow, 4, 512, 512, edges);
  EXPECT_EQ(lanes.rows, register_tile(narrow, 4, 512, 512).rows);
}

TEST(RegisterTile, LeavesVectorsOverWhereThatIsCheap) {
  const target::Cpu wide = cpu(64, 32);
  EdgeCosts edges{4.0, 4.0};
  EXPECT_EQ(register_tile(wide, 16, 128, 128, edges).vectors, 2);
  edges.columns_apart = true;
  EXPECT_EQ(register_tile(wide, 16, 128, 128, edges).vectors, 3);
  EXPECT_EQ(register_tile(wide, 16, 128, 124, edges).vectors, 2) << "part of a vector is left";
}

TEST(RegisterTile, FitsItsResults) {
  const target::Cpu wide = cpu(64, 32);
  EdgeCosts edges;
  edges.columns = 4.0;
  EXPECT_EQ(register_tile(wide, 16, 128, 48 * 16, edges).vectors, 3);
  EXPECT_EQ(register_tile(wide, 16, 128, 16, edges).vectors, 1);
}

TEST(RegisterTile, OfOneRowLeavesEveryThreadItsColumns) {
  EdgeCosts edges{4.0, 4.0};
  for (const bool columns_apart : {false, true}) {
    edges.columns_apart = columns_apart;
    for (const int64_t bytes : {16, 32, 64})
      for (const int64_t threads : {2, 8, 16})
        for (const int64_t columns : {768, 2304, 3072}) {
          const int64_t lanes = bytes / 4;
          const RegisterTile tile =
              register_tile(cpu(bytes, 32), lanes, 1, columns, edges, {threads, 1});
          const int64_t width = tile.vectors * lanes, tiles = (columns + width - 1) / width;
          const int64_t most = (tiles + threads - 1) / threads * width;
          EXPECT_LE(most * threads, columns * 9 / 8)
              << columns << " columns, " << threads << " threads, " << tile.vectors
              << " vectors of " << lanes;
        }
  }
}

TEST(RegisterTile, OfOneRowLeavesLittleToLateThreads) {
  EdgeCosts edges{4.0, 4.0};
  for (const int64_t columns : {3072, 4096}) {
    const RegisterTile tile = register_tile(cpu(64, 32), 16, 1, columns, edges, {16, 1});
    EXPECT_GE(columns / (tile.vectors * 16), 4 * 16) << tile.vectors << " vectors";
    EXPECT_GE(tile.vectors, 3) << "sums wait for each other";
  }
  EXPECT_EQ(register_tile(cpu(64, 32), 16, 1, 16, edges, {16, 1}).vectors, 1);
  EXPECT_EQ(register_tile(cpu(64, 32), 16, 2, 4096, edges, {16, 1}).rows, 2)
      << "both rows with each column";
}

TEST(RegisterTile, HasRowsEnoughForTheSecondCache) {
  EdgeCosts edges{4.0, 4.0};
  edges.is_apart = edges.is_in_place = true;
  edges.most_rows = 6;
  // Tiles of four rows divide evenly among the threads, those of six do not.
  EXPECT_GE(register_tile(cpu(64, 32), 16, 128, 768, edges, {16, 1}).rows, 5);
}

TEST(RegisterTile, WaitsForPanelsAtEdgesToo) {
  EdgeCosts edges;
  edges.is_in_place = edges.is_apart = true;
  const target::Cpu wide = cpu(64, 32);
  const RegisterTile few = register_tile(wide, 16, 16, 297, edges);
  EXPECT_EQ((16 + few.rows - 1) / few.rows, 2) << "two tiles of nearly equal height, not 6, 6, 4";
}

TEST(CacheBlocks, KeepTheRowsOfATileInTheL1) {
  target::Cpu wide = cpu(64, 32);
  wide.caches = {32 << 10, 1 << 20, 32 << 20, 64};
  const auto depth = [&](int64_t steps, StaysInL1 near) {
    return cache_blocks(wide, {9, 3}, 16, 4, 144, 2912, steps, 1, 1, near).depth;
  };
  EXPECT_LE(9 * 4 * depth(2961, StaysInL1::Rows), 32 << 10);
  EXPECT_GT(9 * 4 * depth(2961, StaysInL1::Nothing), 32 << 10);
  EXPECT_EQ(depth(1100, StaysInL1::Rows), 1100) << "to cut once more costs more";
  wide.caches.l1d = 48 << 10;
  EXPECT_EQ(depth(2961, StaysInL1::Rows), depth(2961, StaysInL1::Nothing))
      << "they stay there anyway";
}

TEST(RegisterTile, IsNotWiderThanItsResults) {
  EdgeCosts edges{4.0, 4.0};
  edges.columns_apart = true;
  for (const int64_t rows : {1, 2, 8, 128})
    EXPECT_EQ(register_tile(cpu(64, 32), 16, rows, 48, edges).vectors, 3) << rows;
}

} // namespace
} // namespace kawara::schedule
