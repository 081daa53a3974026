#include "unit/kernel/gpu/gpu_line.h"

// Products on tensor cores of elements of one byte, and tiles of widths that no panel divides.

namespace kawara::kernel {
namespace {

using gpu_line::compile;
using gpu_line::Line;
using gpu_line::Sizes;

const Sizes kOddSizes = {{"M", 40}, {"N", 70}, {"K", 145}};

std::string tiles_of(const std::string& instruction, int64_t width, int64_t depth) {
  const std::string j = std::to_string(width), k = std::to_string(depth);
  return "distribute(S0.j); distribute(S0.i)\n"
         "[tile(S1.i=64, S1.j=" +
         j + ", S1.k=" + k + "); tile(S0.i=64, S0.j=" + j + "); tile(S2.i=64, S2.j=" + j +
         ")\nfuse(S0.i.0, S1.i.0); fuse(S0.j.0, S1.j.0); fuse(S1.i.0, S2.i.0); fuse(S1.j.0, "
         "S2.j.0)\nbind(S0.i.0, block.y); bind(S0.j.0, block.x)]\n"
         "tensorize(S1.i.1, " +
         instruction + "); pipeline(S1.k.0, 2); store_at(acc, S1.j.0)";
}

std::string product_of(const std::string& elem, const std::string& sum, const std::string& out,
                       const std::string& a, const std::string& b) {
  const auto shape = [](std::string index) {
    for (const auto& [from, to] : {std::pair{'i', 'M'}, {'j', 'N'}, {'k', 'K'}})
      std::replace(index.begin(), index.end(), from, to);
    return index;
  };
  return "numerics fast\nparam M, N, K\ninput A: " + elem + "[" + shape(a) + "], B: " + elem + "[" +
         shape(b) + "]\noutput C: " + out + "[M, N]\ntemp acc: " + sum +
         "[M, N]\nacc[i, j] = sum(k, " + sum + "(A[" + a + "]) * " + sum + "(B[" + b +
         "]))\nC[i, j] = acc[i, j]\n";
}

void expect_close(const Line& line, const Sizes& sizes, double tolerance) {
  EXPECT_EQ(line.broken, std::vector<std::string>{});
  ASSERT_TRUE(has_async_op(line.kernel.body)) << print(line.kernel);
  const auto worst = gpu_line::difference(line, sizes, 7);
  ASSERT_TRUE(worst) << worst.error() << "\n" << print(line.kernel);
  EXPECT_LE(*worst, tolerance) << print(line.kernel);
}

TEST(ByteProducts, EightBitFloatsAddUpInF32) {
  for (const std::string type : {"e4m3", "e5m2"}) {
    const std::string tiles = tiles_of("wgmma.m64n64k32." + type, 64, 128);
    expect_close(compile(product_of("f8" + type, "f32", "f32", "i, k", "j, k"), tiles, kOddSizes),
                 kOddSizes, 1e-4);
  }
}

TEST(ByteProducts, IntegersAreExact) {
  const std::string tiles = tiles_of("wgmma.m64n64k32.s8", 64, 128);
  expect_close(compile(product_of("i8", "i32", "i32", "i, k", "j, k"), tiles, kOddSizes), kOddSizes,
               0);
}

TEST(ByteProducts, OperandsWhoseReductionRunsDownTheRowsAreTransposedFirst) {
  const std::string tiles = tiles_of("wgmma.m64n64k32.e4m3", 64, 128);
  const Line line = compile(product_of("f8e4m3", "f32", "bf16", "k, i", "k, j"), tiles, kOddSizes);
  const std::string text = print(line.kernel);
  EXPECT_NE(text.find("workspace A_transposed: f8e4m3[40, 160]"), std::string::npos) << text;
  EXPECT_NE(text.find("workspace B_transposed: f8e4m3[70, 160]"), std::string::npos) << text;
  expect_close(line, kOddSizes, 0.3);
}

TEST(ByteProducts, ResultsOfOneByteAreWrittenInPanels) {
  const Sizes sizes = {{"M", 64}, {"N", 128}, {"K", 128}};
  const std::string tiles = tiles_of("wgmma.m64n128k32.e4m3", 128, 128);
  const Line line = compile(product_of("f8e4m3", "f32", "f8e4m3", "i, k", "j, k"), tiles, sizes);
  EXPECT_NE(print(line.kernel).find("bulk C"), std::string::npos) << print(line.kernel);
  expect_close(line, sizes, 4);
}

TEST(ByteProducts, DefaultSchedulesUseThemWhereNumericsAllow) {
  const Sizes sizes = {{"M", 512}, {"N", 512}, {"K", 512}};
  for (const auto& [elem, sum] : {std::pair{"f8e4m3", "f32"}, {"f8e5m2", "f32"}, {"i8", "i32"}}) {
    const std::string text = product_of(elem, sum, sum, "i, k", "j, k");
    EXPECT_TRUE(has_async_op(compile(text, "auto", sizes).kernel.body)) << text;
    const std::string careful = text.substr(text.find('\n') + 1);
    const bool is_exact = std::string(elem) == "i8";
    EXPECT_EQ(has_async_op(compile(careful, "auto", sizes).kernel.body), is_exact) << careful;
  }
}

TEST(Widths, TilesThatNoPanelDivides) {
  for (const std::string b : {"k, j", "j, k"})
    for (const int64_t width : {80, 96}) {
      SCOPED_TRACE(b + " in tiles of " + std::to_string(width));
      const Sizes sizes = {{"M", 40}, {"N", 104}, {"K", 40}};
      const std::string tiles =
          tiles_of("wgmma.m64n" + std::to_string(width) + "k16.bf16", width, 64);
      const Line line = compile(product_of("bf16", "f32", "bf16", "i, k", b), tiles, sizes);
      EXPECT_NE(print(line.kernel).find("bulk C"), std::string::npos) << print(line.kernel);
      expect_close(line, sizes, 0.1);
    }
}

} // namespace
} // namespace kawara::kernel
