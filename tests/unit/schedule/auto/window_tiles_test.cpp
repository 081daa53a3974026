#include "unit/schedule/auto/facts.h"

#include "schedule/tree/extent.h"

#include <fmt/format.h>

// Register tiles of windows: which loop of the reduction is unrolled around them, and how many rows
// they have.

namespace kawara::schedule {
namespace {

LoopsAround window_nest(int64_t channels, int64_t filters, int64_t window, int64_t columns,
                        int64_t stride, int64_t dilation = 1) {
  const int64_t reach = dilation * (window - 1) + 1;
  const Schedule made =
      by_default(fmt::format("input X: f32[{0}, {3}, {4}]\nconst W: f32[{1}, {0}, {2}, {2}]\n"
                             "output Y: f32[{1}, 4, {5}]\nY[m, h, w] = sum((c, r, s), "
                             "X[c, {6} * h + {7} * r, {6} * w + {7} * s] * W[m, c, r, s])\n",
                             channels, filters, window, 3 * stride + reach,
                             stride * (columns - 1) + reach, columns, stride, dilation),
                 "neoverse-v1", 1);
  return around(made, 1);
}

TEST(AutoWindowTiles, unroll_taps_where_registers_hold_what_they_read) {
  EXPECT_TRUE(window_nest(3, 64, 7, 112, 2).unrolled().contains("s"));
  EXPECT_TRUE(window_nest(64, 128, 7, 30, 1, 3).unrolled().contains("s"));
}

TEST(AutoWindowTiles, unroll_window_rows_where_taps_would_spill) {
  for (const auto& nest : {window_nest(36, 232, 7, 26, 2), window_nest(24, 665, 7, 8, 2, 3),
                           window_nest(16, 64, 7, 30, 3)}) {
    EXPECT_TRUE(nest.unrolled().contains("r"));
    EXPECT_FALSE(nest.unrolled().contains("s"));
  }
}

/// The last tile of a row is code of its own, so 93 columns need no tile of 3 or 31.
TEST(AutoWindowTiles, have_many_rows_whatever_the_last_one_has) {
  const auto rows_of = [](int64_t columns) {
    const Schedule made =
        by_default(fmt::format("input X: f32[8, 6, {0}]\nconst W: f32[597, 8, 3, 3]\n"
                               "output Y: f32[597, 4, {1}]\n"
                               "Y[m, h, w] = sum((c, r, s), X[c, h + r, w + s] * W[m, c, r, s])\n",
                               columns + 2, columns),
                   "neoverse-v1", 1);
    for (const poly::LoopId loop : poly::path_of(made.order, poly::StmtId{1}))
      if (made.order[loop].name == "w.1.1")
        return longest_run(made.scop, made.order, loop).value_or(0);
    return int64_t{0};
  };
  EXPECT_GE(rows_of(93), 6);
  EXPECT_GE(rows_of(96), 6);
}

/// Rows of an image are not copied, however long the sum; in several blocks the last tile would be
/// done row by row.
TEST(AutoWindowTiles, have_all_rows_in_one_block) {
  const Schedule made = by_default(
      "input X: f32[190, 13, 37]\nconst W: f32[25, 190, 7, 7]\noutput Y: f32[25, 4, 16]\n"
      "Y[m, h, w] = sum((c, r, s), X[c, 2 * h + r, 2 * w + s] * W[m, c, r, s])\n",
      "neoverse-v1", 1);
  int64_t tiles = 0;
  for (const poly::LoopId loop : poly::path_of(made.order, poly::StmtId{1}))
    if (made.order[loop].name == "w.0")
      EXPECT_EQ(longest_run(made.scop, made.order, loop), 1) << loops_of(made);
    else if (made.order[loop].name == "w.1.0")
      tiles = longest_run(made.scop, made.order, loop).value_or(0);
  EXPECT_GT(tiles, 1) << loops_of(made);
}

/// Rows of the tile of a sum over windows that move along one dimension of a result, for so many
/// cores.
int64_t rows_of_tile(int64_t rows, int64_t cores) {
  const Schedule made = by_default(
      fmt::format("input X: f32[8, {1}, 7]\nconst W: f32[161, 8, 7, 7]\noutput Y: f32[161, {0}]\n"
                  "Y[m, h] = sum((c, r, s), X[c, 2 * h + r, s] * W[m, c, r, s])\n",
                  rows, 2 * rows + 5),
      "neoverse-v1", cores);
  for (const poly::LoopId loop : poly::path_of(made.order, poly::StmtId{1}))
    if (made.order[loop].name == "h.1.1")
      return longest_run(made.scop, made.order, loop).value_or(0);
  return 0;
}

/// In several blocks the last tile is no code of its own, and would be done row by row.
TEST(AutoWindowTiles, have_few_rows_where_threads_share_blocks_of_them) {
  EXPECT_GT(rows_of_tile(46, 2), 1);
  EXPECT_LT(rows_of_tile(46, 2), rows_of_tile(46, 1));
}

TEST(AutoWindowTiles, are_no_higher_than_the_result) { EXPECT_LE(rows_of_tile(4, 1), 4); }

} // namespace
} // namespace kawara::schedule
