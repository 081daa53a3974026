#include "unit/kernel/gpu/gpu_line.h"

#include "kernel/walk.h"

namespace kawara::kernel {
namespace {

using gpu_line::compile;
using gpu_line::Line;
using gpu_line::Sizes;

/// A GPU with one multiprocessor, which few threads fill.
Line on_one(const std::string& text, const Sizes& sizes) {
  return compile(text, "auto", sizes, true, 1);
}

std::string biased(const std::string& elem) {
  return "param M, N\ninput X: " + elem + "[M, N], b: " + elem + "[N]\noutput Y: " + elem +
         "[M, N]\nY[i, j] = max(X[i, j] + b[j], 0)\n";
}

size_t stores_in(const Kernel& kernel) {
  size_t count = 0;
  visit(kernel.body, [&](const Stmt& stmt) { count += std::get_if<Store>(&stmt) != nullptr; });
  return count;
}

void expect_equal_maps(const Line& line, const Sizes& sizes) {
  EXPECT_EQ(line.broken, std::vector<std::string>{});
  const auto worst = gpu_line::difference(line, sizes, 3);
  ASSERT_TRUE(worst) << worst.error();
  EXPECT_EQ(*worst, 0) << print(line.kernel);
}

TEST(GpuMaps, ThreadsHaveTheSameColumnsOfSeveralRows) {
  // Whole blocks along a row, and several rows to a block: two groups of 16 bytes, whatever the
  // type.
  const Sizes sizes{{"M", 64}, {"N", 1024}};
  const Line wide = on_one(biased("f32"), sizes), narrow = on_one(biased("bf16"), sizes);
  EXPECT_EQ(stores_in(wide.kernel), 2U) << print(wide.kernel);
  EXPECT_EQ(stores_in(narrow.kernel), 2U) << print(narrow.kernel);
  expect_equal_maps(wide, sizes);
  expect_equal_maps(narrow, sizes);
}

TEST(GpuMaps, RowsThatShareNothingHaveThreadsOfTheirOwn) {
  const std::string text = "param M, N\ninput A: f32[M, N], B: f32[M, N]\noutput C: f32[M, N]\n"
                           "C[i, j] = A[i, j] + B[i, j]\n";
  const Sizes sizes{{"M", 64}, {"N", 1024}};
  const Line line = on_one(text, sizes);
  EXPECT_EQ(stores_in(line.kernel), 1U) << print(line.kernel);
  expect_equal_maps(line, sizes);
}

TEST(GpuMaps, OddRowsComeInSeveralPieces) {
  for (const int64_t columns : {1027, 1030, 2048 + 255}) {
    const Sizes sizes{{"M", 16}, {"N", columns}};
    const Line line = on_one(biased("bf16"), sizes);
    EXPECT_GE(stores_in(line.kernel), 4U) << print(line.kernel);
    expect_equal_maps(line, sizes);
  }
}

TEST(GpuMaps, LoopsWithoutAnAxisRunTogether) {
  const std::string text = "param A, B, C, D, E\n"
                           "input X: f32[A, B, C, D, E], s: f32[C]\noutput Y: f32[A, B, C, D, E]\n"
                           "Y[a, b, c, d, e] = X[a, b, c, d, e] * s[c]\n";
  const Sizes sizes{{"A", 3}, {"B", 2}, {"C", 5}, {"D", 4}, {"E", 24}};
  const Line line = compile(text, "auto", sizes);
  const std::string printed = print(line.kernel);
  EXPECT_EQ(printed.find("for "), std::string::npos) << printed;
  EXPECT_NE(printed.find("block_z=30"), std::string::npos) << printed;
  expect_equal_maps(line, sizes);
}

} // namespace
} // namespace kawara::kernel
