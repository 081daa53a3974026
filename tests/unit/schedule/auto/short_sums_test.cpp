#include "unit/schedule/auto/facts.h"

#include <fmt/format.h>
#include <tuple>

// Products whose results take as long to store as to compute, and which loop of a convolution runs
// in lanes.

namespace kawara::schedule {
namespace {

std::string loops_of(const std::string& text, const char* processor = "neoverse-v1") {
  const Schedule made = for_one_core_of(processor, text);
  return poly::print(made.order, poly::names_of_statements(made.scop));
}

/// Tiles of the product, side by side first or one below the other.
bool goes_along_rows(int64_t rows, int64_t columns, int64_t depth,
                     const char* processor = "neoverse-v1") {
  const std::string loops = loops_of(fmt::format("input A: f32[{0}, {2}]\nconst B: f32[{2}, {1}]\n"
                                                 "output C: f32[{0}, {1}]\n"
                                                 "C[i, j] = sum(k, A[i, k] * B[k, j])\n",
                                                 rows, columns, depth),
                                     processor);
  return loops.rfind("for i.1.0:") < loops.rfind("for j.1.0:");
}

TEST(AutoShortSums, store_results_along_their_rows) {
  EXPECT_TRUE(goes_along_rows(1654, 2906, 8));
  EXPECT_TRUE(goes_along_rows(1000, 1000, 64));
}

TEST(AutoShortSums, go_down_columns_where_sums_are_long_or_the_right_operand_is) {
  EXPECT_FALSE(goes_along_rows(1000, 1000, 256));
  EXPECT_FALSE(goes_along_rows(100, 4096, 64)) << "1 MiB: all of the L2";
}

TEST(AutoShortSums, store_along_rows_with_wide_vectors_where_results_outweigh_weights) {
  EXPECT_TRUE(goes_along_rows(880, 2399, 32, "sapphirerapids")) << "weights of 300 KiB";
  EXPECT_FALSE(goes_along_rows(24, 2399, 32, "sapphirerapids")) << "three tiles wait for weights";
  EXPECT_FALSE(goes_along_rows(880, 2399, 256, "sapphirerapids"));
}

TEST(AutoShortSums, of_a_vector_of_columns_fill_lanes_from_four_rows_on) {
  const auto lanes = [](int64_t rows, int64_t depth) {
    const Schedule made =
        by_default(fmt::format("input A: f32[{0}, {1}]\nconst B: f32[{1}, 16]\n"
                               "output C: f32[{0}, 16]\nC[i, j] = sum(k, A[i, k] * B[k, j])\n",
                               rows, depth),
                   "sapphirerapids");
    return around(made, 1).lanes_along();
  };
  EXPECT_EQ(lanes(6, 79), "j");
  EXPECT_EQ(lanes(4, 79), "j");
  EXPECT_NE(lanes(2, 79), "j") << "two sums wait for each other";
}

TEST(AutoShortSums, of_two_operands_in_runs_copy_the_longer_one_rather_than_store_across_lanes) {
  const auto lanes = [](int64_t rows, int64_t columns) {
    const Schedule made = by_default(
        fmt::format("input X: f32[16, {0}, 16], Y: f32[16, {1}, 16]\noutput Z: f32[16, {0}, {1}]\n"
                    "Z[b, i, j] = sum(k, X[b, i, k] * Y[b, j, k])\n",
                    rows, columns),
        "sapphirerapids");
    return around(made, 1).lanes_along();
  };
  EXPECT_EQ(lanes(47, 144), "j");
  EXPECT_EQ(lanes(60, 900), "j");
  EXPECT_EQ(lanes(300, 40), "j");
}

TEST(AutoConvolution, lanes_are_compared_over_all_outer_loops) {
  // 16 rows of 160 elements: one loop has ten times as many iterations outside as the other.
  const std::string loops = loops_of(
      "input image: f32[24, 24, 168]\nconst weight: f32[10, 24, 5, 5]\n"
      "output out: f32[10, 16, 160]\n"
      "out[k, h, w] = sum((c, r, s), image[c, h + 2 * r, w + 2 * s] * weight[k, c, r, s])\n");
  EXPECT_NE(loops.find("for k.1.1:  # vector(4) unroll"), std::string::npos) << loops;
  EXPECT_EQ(loops.find("for h.1.1:  # vector"), std::string::npos) << loops;
}

std::string convolution(int64_t filters, int64_t size) {
  return fmt::format("input image: f32[64, {1}, {1}]\nconst weight: f32[{0}, 64, 3, 3]\n"
                     "output out: f32[{0}, {2}, {2}]\n"
                     "out[k, h, w] = sum((c, r, s), image[c, h + r, w + s] * weight[k, c, r, s])\n",
                     filters, size, size - 2);
}

/// Taps fill no line of lanes, and there are too many steps to spell out: pixels are lanes,
/// channels stay a loop.
TEST(AutoConvolution, of_fewer_filters_than_a_quarter_of_a_vector_has_lanes_of_pixels) {
  const auto of_stride = [](int64_t stride) {
    return by_default(fmt::format("input X: f32[6, {1}, {1}]\nconst W: f32[3, 6, 7, 7]\n"
                                  "output Y: f32[3, 13, 13]\n"
                                  "Y[f, y, x] = sum((c, r, s), X[c, {0}*y + r, {0}*x + s] * "
                                  "W[f, c, r, s])\n",
                                  stride, 12 * stride + 7),
                      "sapphirerapids", 1);
  };
  for (const int64_t stride : {1, 2}) {
    const Schedule made = of_stride(stride);
    EXPECT_EQ(around(made, 1).lanes_along(), "x") << poly::print(made.order, {});
    for (const char* loop : {"f", "r", "s"})
      EXPECT_TRUE(around(made, 1).unrolled().contains(loop)) << loop << " for stride " << stride;
    EXPECT_FALSE(around(made, 1).unrolled().contains("c"));
    EXPECT_EQ(shared_loops(made, 0, 1), 3U) << "begun in registers";
  }
}

TEST(AutoConvolution, few_filters_on_a_small_image_are_lanes) {
  for (const int64_t filters : {3, 5}) {
    const std::string loops = loops_of(convolution(filters, 9));
    EXPECT_NE(loops.find("for w.1.1:  # unroll"), std::string::npos) << loops;
    EXPECT_NE(loops.find("for k.1.1:  # vector(4) unroll"), std::string::npos) << loops;
  }
  const std::string two = loops_of(convolution(2, 9));
  EXPECT_EQ(two.find("for k.1.1:  # vector"), std::string::npos) << "half of each vector:\n" << two;
  EXPECT_NE(two.find("# vector("), std::string::npos) << two;
}

TEST(AutoConvolution, taps_are_unrolled_where_registers_hold_what_they_share) {
  const auto loops = [](int64_t stride) {
    return loops_of(
        fmt::format("input image: f32[24, {0}, {0}]\nconst weight: f32[48, 24, 3, 3]\n"
                    "output out: f32[48, 32, 32]\n"
                    "out[k, h, w] = sum((c, r, s), image[c, {1} * h + r, {1} * w + s] * "
                    "weight[k, c, r, s])\n",
                    31 * stride + 3, stride));
  };
  EXPECT_NE(loops(1).find("for s:  # unroll"), std::string::npos) << "ten elements:\n" << loops(1);
  EXPECT_EQ(loops(3).find("for s:  # unroll"), std::string::npos) << "24 of them:\n" << loops(3);
  EXPECT_NE(loops(3).find("for r:  # unroll"), std::string::npos) << loops(3);
}

TEST(AutoConvolution, neighbours_are_lanes_where_nothing_is_shifted) {
  const std::string loops = loops_of("input image: f32[64, 3136]\nconst weight: f32[3, 64]\n"
                                     "output out: f32[3, 3136]\n"
                                     "out[k, q] = sum(c, image[c, q] * weight[k, c])\n");
  EXPECT_EQ(loops.find("for k.1.1:  # vector"), std::string::npos) << loops;
  EXPECT_NE(loops.find("# vector("), std::string::npos) << loops;
}

TEST(AutoConvolution, few_filters_are_lanes_of_wide_vectors_too) {
  for (const int64_t filters : {5, 8, 15}) {
    const std::string loops = loops_of(convolution(filters, 9), "sapphirerapids");
    EXPECT_NE(loops.find("for k.1.1:  # vector(16) unroll"), std::string::npos) << loops;
  }
  const std::string two = loops_of(convolution(2, 9), "sapphirerapids");
  EXPECT_EQ(two.find("for k.1.1:  # vector"), std::string::npos) << "an eighth of each vector:\n"
                                                                 << two;
  EXPECT_NE(two.find("for w"), std::string::npos) << two;
}

Schedule product_for(const char* processor, int64_t rows, int64_t columns, int64_t depth) {
  return for_one_core_of(
      processor, fmt::format("numerics rounding\ninput A: f32[{0}, {2}]\nconst B: f32[{2}, {1}]\n"
                             "output C: f32[{0}, {1}]\nC[i, j] = sum(k, A[i, k] * B[k, j])\n",
                             rows, columns, depth));
}

/// A product whose columns fill no half of a vector: what is in lanes, and steps spelled out.
struct FewColumns {
  std::string lanes;
  std::set<std::string> unrolled;
  int64_t steps = 0;
};
FewColumns of_few_columns(int64_t rows, int64_t columns, int64_t depth,
                          const char* processor = "sapphirerapids") {
  const Schedule made =
      for_one_core_of(processor, fmt::format("input A: f32[{0}, {2}]\nconst B: f32[{2}, {1}]\n"
                                             "output C: f32[{0}, {1}]\n"
                                             "C[i, j] = sum(k, A[i, k] * B[k, j])\n",
                                             rows, columns, depth));
  const LoopsAround update = around(made, 1);
  return {update.lanes_along(), update.unrolled(), update.copies_of("k")};
}

TEST(AutoShortSums, of_few_columns_have_these_in_lanes_of_a_wide_vector) {
  for (const int64_t depth : {6, 8, 24}) {
    const FewColumns few = of_few_columns(304, 3, depth);
    EXPECT_EQ(few.lanes, "j") << depth;
    EXPECT_EQ(few.unrolled.count("i"), 1U) << depth << ": rows of a tile";
  }
  EXPECT_EQ(of_few_columns(304, 3, 200).lanes, "k") << "a long sum pays for adding up lanes";
  EXPECT_EQ(of_few_columns(304, 2, 60).lanes, "k") << "and two columns earlier";
}

TEST(AutoShortSums, longer_than_a_vector_are_not_spelled_out_whole) {
  EXPECT_EQ(of_few_columns(18, 8, 24).steps, 4);
  EXPECT_EQ(of_few_columns(18, 8, 16).unrolled.count("k"), 1U);
}

TEST(AutoShortSums, one_wide_vector_of_terms_runs_in_lanes) {
  const auto lanes_along = [](int64_t terms) {
    const std::string text = fmt::format("numerics rounding\ninput A: f32[59, {0}], x: f32[{0}]\n"
                                         "output y: f32[59]\ny[i] = sum(k, A[i, k] * x[k])\n",
                                         terms);
    return around(for_one_core_of("sapphirerapids", text), 1).lanes_along();
  };
  EXPECT_EQ(lanes_along(51), "k");
  EXPECT_NE(lanes_along(15), "k");
}

TEST(AutoShortSums, few_kept_columns_are_copied_side_by_side_for_one_wide_vector) {
  for (const auto& [rows, columns, depth] : {std::tuple(40, 3, 160), std::tuple(7, 2, 248),
                                             std::tuple(1, 8, 75), std::tuple(59, 1, 51)}) {
    const Schedule wide = product_for("sapphirerapids", rows, columns, depth);
    EXPECT_TRUE(is_packed(wide, "B")) << loops_of(wide);
    EXPECT_EQ(around(wide, 1).lanes_along(), "k") << loops_of(wide);
  }
  EXPECT_FALSE(is_packed(product_for("neoverse-v1", 7, 2, 248), "B"));
}

TEST(AutoShortSums, of_columns_stay_in_registers_for_each_iteration_outside) {
  const std::string text = "input X: f32[118, 2672, 24]\noutput Y: f32[118, 24]\n"
                           "Y[a, c] = sum(r, X[a, r, c])\n";
  const std::string wide = loops_of(text, "sapphirerapids");
  EXPECT_NE(wide.find("for c:  # vector(16) unroll"), std::string::npos) << wide;
  EXPECT_LT(wide.find("for r:"), wide.find("for c:  # vector(16) unroll")) << wide;
  EXPECT_EQ(loops_of(text).find("for c:  # vector(4) unroll"), std::string::npos);
}

TEST(AutoShortSums, of_fewer_taps_than_lanes_leave_these_to_results_with_strides) {
  const auto lanes_along = [](const char* processor) {
    return around(for_one_core_of(processor,
                                  "input X: f32[96, 30, 16]\nconst W: f32[96, 5, 5]\n"
                                  "output Y: f32[96, 13, 6]\nY[g, h, w] = "
                                  "sum((r, s), X[g, 2 * h + r, 2 * w + s] * W[g, r, s])\n"),
                  1)
        .lanes_along();
  };
  EXPECT_EQ(lanes_along("sapphirerapids"), "w");
}

/// Lanes of a row of so many elements, of which each comes from there.
int64_t lanes_of_row(int extent, const char* from, const char* processor = "sapphirerapids") {
  return around(by_default(fmt::format("input X: f32[500, {0}]\noutput Y: f32[500, {0}]\n"
                                       "Y[i, j] = X[i, {1}]\n",
                                       extent, from),
                           processor),
                0)
      .lanes();
}

TEST(AutoShortRows, that_turn_back_have_lanes_that_leave_few_elements) {
  EXPECT_EQ(lanes_of_row(10, "min(max(j - 1, 0), 8)"), 8);
  EXPECT_EQ(lanes_of_row(24, "(j + 7) % 24"), 8);
  EXPECT_EQ(lanes_of_row(64, "(j + 7) % 64"), 32) << "nothing is left";
  EXPECT_EQ(lanes_of_row(10, "min(max(j - 1, 0), 8)", "neoverse-n1"), 8);
}

/// Lanes along which the greatest of each row is found.
int64_t lanes_of_greatest(int extent, const char* processor) {
  const Schedule made = by_default(
      fmt::format("input X: f32[500, {0}]\noutput y: f32[500]\ny[i] = max(k, X[i, k])\n", extent),
      processor);
  return around(made, 1).lanes();
}

TEST(AutoShortRows, have_their_greatest_element_in_half_a_wide_vector) {
  EXPECT_EQ(lanes_of_greatest(8, "sapphirerapids"), 0) << "the code generator finds lanes";
  EXPECT_EQ(lanes_of_greatest(12, "sapphirerapids"), 8);
  EXPECT_EQ(lanes_of_greatest(60, "sapphirerapids"), 8);
  EXPECT_EQ(lanes_of_greatest(100, "sapphirerapids"), 16);
  EXPECT_EQ(lanes_of_greatest(12, "neoverse-n1"), 0);
  EXPECT_EQ(lanes_of_greatest(60, "neoverse-n1"), 12);
}

TEST(AutoShortRows, of_neighbours_have_whole_vectors) {
  EXPECT_EQ(lanes_of_row(10, "j"), 32) << "the last ones are stored under a mask";
}

} // namespace
} // namespace kawara::schedule
