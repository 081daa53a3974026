#include "estimate/winograd_tile.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace kawara::estimate {
namespace {

target::Cpu narrow_machine() { return *target::named_cpu("neoverse-n1"); }

TEST(WinogradTile, LargerTilesMultiplyLess) {
  const ConvolutionSizes sizes{1, 128, 128, 28, 28, true};
  const target::Cpu cpu = narrow_machine();
  const double direct = convolution_cost(sizes, 1, cpu).product;
  EXPECT_DOUBLE_EQ(convolution_cost(sizes, 2, cpu).product * 2.25, direct);
  EXPECT_DOUBLE_EQ(convolution_cost(sizes, 4, cpu).product * 4, direct);
}

TEST(WinogradTile, CountsWholeTiles) {
  const target::Cpu cpu = narrow_machine();
  const ConvolutionSizes whole{1, 64, 64, 16, 16, true}, rest{1, 64, 64, 13, 13, true};
  EXPECT_EQ(convolution_cost(whole, 4, cpu).total(), convolution_cost(rest, 4, cpu).total());
  EXPECT_GT(convolution_cost(whole, 1, cpu).total(), convolution_cost(rest, 1, cpu).total());
}

TEST(WinogradTile, WindowsOfEachCallCost) {
  const target::Cpu cpu = narrow_machine();
  ConvolutionSizes sizes{1, 512, 512, 4, 4, true};
  EXPECT_EQ(convolution_cost(sizes, 4, cpu).windows, 0);
  sizes.has_constant_windows = false;
  EXPECT_GT(convolution_cost(sizes, 4, cpu).total(), convolution_cost(sizes, 1, cpu).total());
}

std::optional<int64_t> tile_of(int64_t channels, int64_t size,
                               const target::Cpu& cpu = narrow_machine(),
                               const std::string& elem = "f32") {
  const auto program = program::parse(make_source(
      "conv.kw", fmt::format("numerics fast\ninput X: {3}[{0}, {1}, {1}]\n"
                             "const W: {3}[{0}, {0}, 3, 3]\noutput Y: f32[{0}, {2}, {2}]\n"
                             "Y[k, y, x] = sum((c, r, s), X[c, y + r, x + s] * W[k, c, r, s])\n",
                             channels, size + 2, size, elem)));
  EXPECT_TRUE(program);
  return winograd_tile(*program, cpu);
}

TEST(WinogradTile, DependsOnTheShape) {
  EXPECT_EQ(tile_of(128, 28), 4);
  EXPECT_EQ(tile_of(512, 7), 4);
  EXPECT_EQ(tile_of(4, 28), std::nullopt) << "transforms outweigh products";
  EXPECT_EQ(tile_of(128, 1), std::nullopt) << "one result in 16 of a tile";
}

TEST(WinogradTile, TilesOfBf16AreFasterThanWhatItSaves) {
  const target::Cpu cpu = *target::named_cpu("sapphirerapids");
  EXPECT_EQ(tile_of(128, 28, cpu, "bf16"), std::nullopt);
  EXPECT_EQ(tile_of(128, 28, cpu, "f32"), 4);
  EXPECT_EQ(tile_of(128, 19, cpu, "bf16"), 4) << "rows of 19 do not run as tiles";
  EXPECT_EQ(tile_of(48, 28, cpu, "bf16"), 4) << "nor do channels that fill no rows of them";
}

TEST(WinogradTile, WideVectorsWaitForWeights) {
  target::Cpu cpu = narrow_machine();
  cpu.vector_bytes = 64;
  cpu.caches.l2 = 2 << 20;
  EXPECT_EQ(tile_of(256, 14, cpu), 4);
  EXPECT_EQ(tile_of(512, 7, cpu), 2) << "36 MiB of transformed windows instead of 16";
}

} // namespace
} // namespace kawara::estimate
