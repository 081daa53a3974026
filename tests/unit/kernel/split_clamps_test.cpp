#include "unit/kernel/line.h"

#include "kernel/loops/split_clamps.h"

namespace kawara {
namespace {

std::string split(const std::string& text, const std::string& directives) {
  return kernel::print(kernel::split_clamps(line::compile(text, directives).kernel));
}

const std::string kNeighbours = "param W\ninput x: f32[W]\noutput y: f32[W]\n"
                                "y[j] = x[max(j - 1, 0)] + x[min(j + 1, W - 1)]\n";

TEST(SplitClamps, PutsIterationsAtBordersApart) {
  const std::string text = split(kNeighbours, "vectorize(j, 4)");
  EXPECT_TRUE(line::has(text, "let j_inner: i64 = min(1, W)\n"
                              "  for j in range(0, j_inner):\n"))
      << text;
  EXPECT_TRUE(line::has(text, "let j_border: i64 = max(W - 1, j_inner)\n"
                              "  for j in range(j_inner, j_border):  # vector(4)\n"
                              "    y[j] = x[j - 1] + x[j + 1]\n"
                              "  for j in range(j_border, W):\n"))
      << text;
}

TEST(SplitClamps, ComputeTheSame) {
  const std::vector<std::vector<int64_t>> sizes = {{1}, {2}, {3}, {5}, {8}, {9}, {10}, {21}};
  line::expect_same(kNeighbours, "vectorize(j, 4)", sizes);
  line::expect_same(kNeighbours, "split(j, 8); split(j.1, 4); vectorize(j.1.1, 4)", sizes);
  line::expect_same("param W\ninput x: f32[W]\noutput y: f32[W]\n"
                    "y[j] = x[min(max(j - 3, 0), W - 1)] + x[max(min(j + 2, W - 1), 0)]\n",
                    "vectorize(j, 4)", sizes);
  line::expect_same(
      "param W\ninput x: f32[W]\noutput y: f32[W]\n"
      "for j in range(W):\n    y[W - 1 - j] = x[max(W - 2 - j, 0)] + x[min(W - j, W - 1)]\n",
      "vectorize(j, 4)", sizes);
  line::expect_same("param W\ninput x: f32[3*W]\noutput y: f32[W]\n"
                    "y[j] = x[max(3*j - 4, 0)] + x[min(2*j + 1, W - 1)]\n",
                    "vectorize(j, 4)", sizes);
}

TEST(SplitClamps, ChoicesReadInsideByOneComparison) {
  const std::string padded = "param W\ninput x: f32[W]\noutput y: f32[W]\n"
                             "y[j] = (x[max(j - 1, 0)] if j > 0 else 0)"
                             " + (0 if j >= W - 1 else x[min(j + 1, W - 1)])\n";
  const std::string text = split(padded, "vectorize(j, 4)");
  EXPECT_TRUE(line::has(text, "# vector(4)\n    y[j] = x[j - 1] + x[j + 1]\n")) << text;
  line::expect_same(padded, "vectorize(j, 4)", {{1}, {2}, {3}, {6}, {13}});
  const std::string rows = "param H, W\ninput x: f32[H, W]\noutput y: f32[H, W]\n"
                           "y[i, j] = x[max(i - 1, 0), max(j - 1, 0)] if i > 0 and j > 0 else 0\n";
  EXPECT_TRUE(line::has(split(rows, "vectorize(j, 4)"),
                        "# vector(4)\n      y[i, j] = select(i > 0, x[max(i - 1, 0), j - 1], "))
      << split(rows, "vectorize(j, 4)");
  line::expect_same(rows, "vectorize(j, 4)", {{1, 1}, {3, 6}, {2, 13}});
}

TEST(SplitClamps, TilesAskOnce) {
  const std::string window = "param W\ninput x: f32[W], w: f32[3]\noutput y: f32[W]\n"
                             "y[j] = sum(s in range(3), x[min(max(j + s - 1, 0), W - 1)] * w[s])\n";
  const std::string tiles =
      "distribute(j); split(S1.j, 16); reorder(S1.j.0, S1.s, S1.j.1); vectorize(S1.j.1, 4)";
  const line::Line made = line::compile(window, tiles);
  std::string text;
  kernel::optimise(made.kernel, line::test_cpu(), [&](std::string_view pass, const auto& kernel) {
    if (pass == "split_clamps")
      text = kernel::print(kernel);
  });
  EXPECT_TRUE(line::has(text, "if j_0 * 16 - 1 >= 0 and W - j_0 * 16 - 17 >= 0:")) << text;
  EXPECT_FALSE(line::has(text, "_inner")) << "tiles keep their bounds:\n" << text;
  line::expect_same(window, tiles, {{1}, {2}, {15}, {16}, {17}, {32}, {50}, {80}});
}

TEST(SplitClamps, LeavesWhatHasNoLanes) {
  const auto is_split = [](const std::string& text, const std::string& directives) {
    return line::has(split(text, directives), "_inner");
  };
  EXPECT_TRUE(is_split(kNeighbours, "vectorize(j, 4)"));
  EXPECT_FALSE(is_split(kNeighbours, ""));
  EXPECT_FALSE(is_split("param H, W\ninput x: f32[H, W]\noutput y: f32[H, W]\n"
                        "y[i, j] = x[max(i - 1, 0), j]\n",
                        "vectorize(j, 4)"))
      << "the same row for all lanes";
  EXPECT_FALSE(is_split("param W\ninput x: f32[W]\noutput y: f32[W]\ny[j] = x[j] + max(j - 1, 0)\n",
                        "vectorize(j, 4)"))
      << "no index";
  EXPECT_FALSE(
      is_split("input x: f32[8]\noutput y: f32[8]\ny[j] = x[max(j - 1, 0)]\n", "vectorize(j, 4)"))
      << "two vectors";
}

} // namespace
} // namespace kawara
