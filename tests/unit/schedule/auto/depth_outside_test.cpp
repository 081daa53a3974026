#include "unit/schedule/auto/facts.h"

#include <fmt/format.h>

// Where blocks of a reduction stand: inside the rows of an image, or around all of them.

namespace kawara::schedule {
namespace {

std::string image_of(int64_t channels, int64_t filters, int64_t rows, int64_t columns) {
  return fmt::format("input X: f32[{0}, {4}, {5}]\nconst W: f32[{1}, {0}, 3, 3]\n"
                     "output Y: f32[{1}, {2}, {3}]\n"
                     "Y[m, h, w] = sum((c, r, s), X[c, h + r, w + s] * W[m, c, r, s])\n",
                     channels, filters, rows, columns, rows + 2, columns + 2);
}

/// The program's loop that the outermost loop of the sum is a part of.
std::string outermost(const std::string& text, const char* processor = "neoverse-v1") {
  return LoopsAround::origin(around(by_default(text, processor, 1), 1).loops.front());
}

TEST(AutoDepthOutside, of_more_weights_than_the_L2_holds) {
  // 1.6 MB of weights for 40 rows of 20 results each.
  EXPECT_EQ(outermost(image_of(560, 80, 40, 20)), "c");
  const auto nest = around(by_default(image_of(560, 80, 40, 20), "neoverse-v1", 1), 1);
  EXPECT_EQ(nest.lanes_along(), "m");
}

TEST(AutoDepthOutside, of_wide_vectors_too) {
  // 3.5 MB of weights for 40 rows of 40 results each, an L2 of 2 MB.
  EXPECT_EQ(outermost(image_of(1200, 80, 40, 40), "sapphirerapids"), "c");
  EXPECT_EQ(outermost(image_of(16, 80, 40, 40), "sapphirerapids"), "h");
}

TEST(AutoDepthOutside, of_weights_beyond_the_L2_on_small_images) {
  // 9 MB of weights for 8 rows of 8 results, one tile each: nothing of a row is used again.
  EXPECT_EQ(outermost(image_of(1600, 160, 8, 8), "sapphirerapids"), "c");
}

TEST(AutoDepthOutside, of_more_than_the_L1_holds_for_a_row) {
  EXPECT_EQ(outermost(image_of(160, 80, 40, 20)), "c") << "92 KB of weights and 42 of the image";
  EXPECT_EQ(outermost(image_of(32, 80, 40, 20)), "h") << "18 and 8 KB";
}

TEST(AutoDepthOutside, not_for_many_threads_of_little_work) {
  const std::string text = image_of(160, 80, 40, 20);
  const auto first = [&](int64_t cores) {
    return LoopsAround::origin(around(by_default(text, "neoverse-v1", cores), 1).loops.front());
  };
  EXPECT_EQ(first(4), "c");
  EXPECT_EQ(first(64), "h");
}

TEST(AutoDepthOutside, not_where_results_come_and_go_for_few_steps) {
  // Blocks of 90 steps each, and 13 MB of results; a seventh of the steps of the other.
  EXPECT_EQ(outermost(image_of(20, 200, 40, 400)), "h");
  EXPECT_EQ(outermost(image_of(140, 200, 40, 400)), "c");
}

TEST(AutoDepthOutside, parts_of_the_image_stay_in_the_L1) {
  const Schedule made = by_default(image_of(848, 136, 22, 91), "neoverse-v1", 1);
  ASSERT_EQ(LoopsAround::origin(around(made, 1).loops.front()), "c");
  const auto copy = std::find_if(made.scop.tensors.begin(), made.scop.tensors.end(),
                                 [](const auto& tensor) { return tensor.name == "X_staged"; });
  ASSERT_NE(copy, made.scop.tensors.end());
  int64_t bytes = 4;
  for (size_t d = copy->private_dims; d < copy->shape.size(); ++d)
    bytes *= scalar::constant_of(copy->shape[d]).value_or(0);
  EXPECT_LE(bytes, target::named_cpu("neoverse-v1")->caches.l1d);
  EXPECT_GT(bytes, 8 * 1024);
}

} // namespace
} // namespace kawara::schedule
