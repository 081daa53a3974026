#include "unit/schedule/auto/facts.h"

// Copies that transpose: how many elements a square has.

namespace kawara::schedule {
namespace {

LoopsAround transposed(const std::string& elem, const std::string& value) {
  return around(for_one_core_of("neoverse-n1",
                                "input X: " + elem + "[512, 512]\noutput Y: " + elem +
                                    "[512, 512]\nfor i in range(512):\n    for j in range(512):\n"
                                    "        Y[i, j] = " +
                                    value + "\n"),
                0);
}

/// Rows of a square: iterations of the loop that is unrolled around the lanes.
int64_t rows_of_square(const LoopsAround& nest) {
  for (const poly::OrderLoop& loop : nest.loops)
    if (loop.marks.unroll == poly::kFullUnroll)
      return loop.tile_size;
  return 0;
}

TEST(AutoTransposed, squares_have_as_many_elements_as_a_vector_of_results) {
  for (const char* elem : {"f32", "f16"}) {
    const LoopsAround copy = transposed(elem, "X[j, i]");
    EXPECT_EQ(copy.lanes_along(), "j") << elem;
    EXPECT_EQ(copy.unrolled(), std::set<std::string>{"i"}) << elem;
    EXPECT_EQ(rows_of_square(copy), 4) << elem << ": computed in f32";
  }
}

TEST(AutoTransposed, bytes_are_transposed_as_they_lie) {
  for (const char* elem : {"i8", "u8"}) {
    const LoopsAround copy = transposed(elem, "X[j, i]");
    EXPECT_EQ(copy.lanes(), 16) << elem;
    EXPECT_EQ(rows_of_square(copy), 16) << elem;
  }
  EXPECT_EQ(rows_of_square(transposed("i8", "X[j, i] + 1")), 4) << "an addition is of i32";
}

TEST(AutoTransposed, a_thin_side_has_squares_of_a_part_of_a_vector) {
  const auto thin = [](int64_t columns) {
    const std::string n = std::to_string(columns);
    return around(by_default("input X: f32[7000, " + n + "]\noutput Y: f32[" + n +
                                 ", 7000]\nY[i, j] = X[j, i]\n",
                             "sapphirerapids", 1),
                  0);
  };
  EXPECT_EQ(rows_of_square(thin(64)), 16);
  EXPECT_EQ(rows_of_square(thin(24)), 8);
  EXPECT_EQ(rows_of_square(thin(8)), 4);
  EXPECT_EQ(rows_of_square(thin(3)), 0) << "no square at all";
}

TEST(AutoTransposed, a_line_that_is_no_whole_vector_is_one_under_a_mask) {
  const auto lines = [](int64_t columns) {
    const std::string n = std::to_string(columns);
    return around(by_default("input X: f32[" + n + ", 7000]\noutput Y: f32[7000, " + n +
                                 "]\nY[i, j] = X[j, i]\n",
                             "sapphirerapids", 1),
                  0);
  };
  for (const int64_t columns : {5, 7, 11, 13}) {
    EXPECT_EQ(lines(columns).lanes_along(), "j") << columns;
    EXPECT_EQ(lines(columns).lanes(), columns);
    EXPECT_EQ(rows_of_square(lines(columns)), columns < 8 ? 8 : 16) << columns;
  }
  EXPECT_EQ(rows_of_square(lines(8)), 8) << "whole squares of a part of a vector";
  EXPECT_EQ(lines(17).lanes(), 16);
}

TEST(AutoTransposed, a_few_elements_in_a_row_have_one_square_and_what_it_leaves) {
  const auto square = [](int64_t elements) {
    const std::string n = std::to_string(elements);
    return rows_of_square(around(by_default("input X: f32[7000, " + n + "]\noutput Y: f32[" + n +
                                                ", 7000]\nY[i, j] = X[j, i]\n",
                                            "sapphirerapids", 1),
                                 0));
  };
  for (const int64_t elements : {4, 5, 7, 8})
    EXPECT_EQ(square(elements), 4) << elements;
}

TEST(AutoTransposed, a_short_row_has_one_loop_of_tiles) {
  const auto rows = [](int64_t length) {
    const std::string n = std::to_string(length);
    return around(by_default("input X: f32[222, " + n + "]\noutput Y: f32[" + n +
                                 ", 222]\nY[i, j] = X[j, i]\n",
                             "sapphirerapids", 1),
                  0)
        .loops.size();
  };
  EXPECT_EQ(rows(238), 4U) << "what is left of 16 is known";
  EXPECT_EQ(rows(240), 5U);
  EXPECT_EQ(rows(4001), 5U);
}

} // namespace
} // namespace kawara::schedule
