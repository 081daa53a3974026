#include "unit/kernel/line.h"

#include "kernel/loops/peel_last_tiles.h"

#include <fmt/core.h>

namespace kawara {
namespace {

/// Images under a window and what is made of the sums.
std::string convolution_text(int64_t channels, int64_t filters, int64_t rows, int64_t columns,
                             int64_t stride) {
  return fmt::format("input X: f32[{0}, {4}, {5}]\nconst W: f32[{1}, {0}, 3, 3], B: f32[{1}]\n"
                     "output Y: f32[{1}, {2}, {3}]\ntemp T: f32[{1}, {2}, {3}]\n\n"
                     "T[m, i, j] = sum((c, p, q), X[c, {6} * i + p, {6} * j + q] * W[m, c, p, q])\n"
                     "Y[m, i, j] = max(T[m, i, j] + B[m], 0.0)\n",
                     channels, filters, rows, columns, stride * (rows - 1) + 3,
                     stride * (columns - 1) + 3, stride);
}

target::Cpu wide_cpu() {
  target::Cpu cpu = *target::named_cpu("sapphirerapids");
  cpu.cores = 1;
  return cpu;
}

const std::string kEdges = "input A: f32[19, 12], B: f32[12, 21]\noutput C: f32[19, 21]\n\n"
                           "C[i, j] = sum(k, A[i, k] * B[k, j])\n";
const std::string kEdgeTiles = "distribute(i); tile(S1.i=4, S1.j=8); reorder(S1.i.0, S1.j.0, S1.k, "
                               "S1.i.1, S1.j.1); unroll(S1.i.1); vectorize(S1.j.1, 4)";

TEST(PeelLastTiles, AreApartAndNothingAsksForTheirSize) {
  const line::Line made = line::compile(kEdges, kEdgeTiles);
  EXPECT_NE(kernel::print(made.kernel).find("min("), std::string::npos);
  const std::string apart = kernel::print(kernel::peel_last_tiles(made.kernel));
  EXPECT_EQ(apart.find("min("), std::string::npos) << apart;
  EXPECT_NE(apart.find("in range(0, 3):  # unroll"), std::string::npos) << "19 rows are 4 x 4 + 3";
  EXPECT_NE(apart.find("in range(0, 5):  # vector(4)"), std::string::npos) << "21 are 2 x 8 + 5";
}

TEST(PeelLastTiles, ComputeTheSame) {
  line::expect_same(kEdges, kEdgeTiles, {{}});
  line::expect_same(convolution_text(2, 40, 2, 17, 1), "auto", {{}}, wide_cpu());
  line::expect_same(convolution_text(2, 40, 2, 19, 2), "auto", {{}}, wide_cpu());
  line::expect_same(convolution_text(2, 20, 2, 13, 1), "auto", {{}});
}

/// Bytes under a window, in groups of channels: the rows of the last tile are fewer, its groups and
/// columns whole.
TEST(PeelLastTiles, OfInstructionsThatReadAnImageAreApart) {
  const std::string text = "input X: u8[6, 5, 21]\nconst W: i8[48, 6, 3, 3]\n"
                           "output Y: i32[48, 3, 19]\n\n"
                           "Y[k, h, w] = sum((c, r, s), X[c, h + r, w + s] * W[k, c, r, s])\n";
  for (const target::Cpu& cpu : {wide_cpu(), line::test_cpu()})
    line::expect_same(text, "auto", {{}}, cpu);
  const line::Line made = line::compile(text, "auto", wide_cpu());
  const std::string code = kernel::print(kernel::optimise(made.kernel, wide_cpu()));
  EXPECT_NE(code.find("avx512.vpdpbusd("), std::string::npos) << code;
  EXPECT_EQ(code.find("* broadcast(i32(X"), std::string::npos) << code;
}

TEST(PeelLastTiles, OfSquaresThatAreTransposedAreApart) {
  const std::string text = "input X: f32[21, 19]\noutput Y: f32[19, 21]\nY[i, j] = X[j, i]\n";
  const std::string squares = "split(j, 8); split(i, 8); reorder(j.0, i.0, i.1, j.1); "
                              "unroll(i.1); vectorize(j.1, 8)";
  const line::Line made = line::compile(text, squares);
  const std::string apart = kernel::print(kernel::peel_last_tiles(made.kernel));
  EXPECT_EQ(apart.find("min("), std::string::npos) << apart;
  EXPECT_NE(apart.find("in range(0, 5):  # vector(8)"), std::string::npos) << "21 are 2 x 8 + 5";
  line::expect_same(text, squares, {{}});
  const std::string copy = "input X: f32[19, 21]\noutput Y: f32[19, 21]\nY[i, j] = X[i, j]\n";
  EXPECT_NE(
      kernel::print(kernel::peel_last_tiles(line::compile(copy, squares).kernel)).find("min("),
      std::string::npos)
      << "neighbours are read as they lie";
}

TEST(PeelLastTiles, OfALoopThatThreadsShareAreAskedForOnce) {
  const std::string shared = kEdgeTiles + "; parallel(S1.i.0)";
  const line::Line made = line::compile(kEdges, shared);
  EXPECT_NE(kernel::print(kernel::peel_last_tiles(made.kernel)).find("19 - "), std::string::npos);
  const std::string apart = kernel::print(kernel::last_shared_tiles(made.kernel));
  EXPECT_EQ(apart.find("19 - "), std::string::npos) << apart;
  EXPECT_NE(apart.find("if i_0 < 4:"), std::string::npos) << apart;
  EXPECT_NE(apart.find("in range(0, 3):  # unroll"), std::string::npos) << "19 rows are 4 x 4 + 3";
  line::expect_same(kEdges, shared, {{}});
  line::expect_same(kEdges, shared + "; coalesce(S1.i.0, S1.j.0); parallel(S1.i.0_j.0)", {{}});
}

/// 19 rows in blocks of 2 tiles of 4: 8, 8, and 3 in a block of one tile.
TEST(PeelLastTiles, OfBlocksOfTilesAreApart) {
  const std::string blocks =
      "distribute(i); split(S1.i, 8); split(S1.i.1, 4); split(S1.j, 8); "
      "reorder(S1.i.0, S1.i.1.0, S1.j.0, S1.k, S1.i.1.1, S1.j.1); unroll(S1.i.1.1); "
      "vectorize(S1.j.1, 4)";
  const auto apart = [](const std::string& directives, auto pass) {
    return kernel::print(pass(line::compile(kEdges, directives).kernel));
  };
  EXPECT_NE(kernel::print(line::compile(kEdges, blocks).kernel).find("19 - "), std::string::npos);
  const std::string own = apart(blocks, kernel::peel_last_tiles);
  EXPECT_EQ(own.find("19 - "), std::string::npos) << own;
  EXPECT_NE(own.find("in range(0, 3):  # unroll"), std::string::npos) << own;
  const std::string shared = apart(blocks + "; parallel(S1.i.0)", [](kernel::Kernel k) {
    return kernel::peel_last_tiles(kernel::last_shared_tiles(std::move(k)));
  });
  EXPECT_EQ(shared.find("19 - "), std::string::npos) << shared;
  EXPECT_NE(shared.find("if i_0 < 2:"), std::string::npos) << shared;
  for (const char* more : {"", "; parallel(S1.i.0)"})
    line::expect_same(kEdges, blocks + more, {{}});
}

TEST(PeelLastTiles, OfSizesThatAreNotKnownStay) {
  const std::string text = "param N\ninput A: f32[N, 12], B: f32[12, 21]\noutput C: f32[N, 21]\n\n"
                           "C[i, j] = sum(k, A[i, k] * B[k, j])\n";
  const line::Line made = line::compile(text, kEdgeTiles);
  EXPECT_NE(kernel::print(kernel::peel_last_tiles(made.kernel)).find("N - "), std::string::npos);
  line::expect_same(text, kEdgeTiles, {{1}, {4}, {19}});
}

TEST(PeelLastTiles, LetTilesOfImagesStayInRegisters) {
  const line::Line made = line::compile(convolution_text(3, 64, 3, 19, 2), "auto", wide_cpu());
  const std::string text = kernel::print(kernel::optimise(made.kernel, wide_cpu()));
  EXPECT_EQ(text.find("workspace T:"), std::string::npos) << text;
  const std::string whole =
      kernel::print(line::compile(convolution_text(3, 64, 3, 19, 2), "").kernel);
  EXPECT_NE(whole.find("workspace T:"), std::string::npos) << whole;
}

} // namespace
} // namespace kawara
