#include "unit/schedule/auto/facts.h"

#include <fmt/format.h>

// A few results and many terms: who shares the terms, which loop runs in lanes, and when all stays
// as it was.

namespace kawara::schedule {
namespace {

std::string sums(const std::string& shapes, const std::string& value) {
  return "input A: f32[" + shapes.substr(0, shapes.find(';')) + "], B: f32[" +
         shapes.substr(shapes.find(';') + 2) + "]\noutput C: f32[3, 5]\nC[i, j] = sum(k, " + value +
         ")\n";
}

/// The update of the results; an rfactor leaves it its number.
LoopsAround update_of(const Schedule& schedule) { return around(schedule, 1); }

Schedule on_cores(const std::string& text, int64_t cores) {
  return by_default(text, "neoverse-n1", cores);
}

TEST(AutoTallReduction, results_stay_in_registers_and_threads_share_the_terms) {
  const std::string both = sums("3, 1000000; 5, 1000000", "A[i, k] * B[j, k]");
  for (const int64_t cores : {1, 2}) {
    const Schedule made = on_cores(both, cores);
    EXPECT_EQ(update_of(made).unrolled(), (std::set<std::string>{"i", "j"})) << loops_of(made);
    EXPECT_EQ(update_of(made).lanes_along(), "k") << loops_of(made);
    EXPECT_EQ(update_of(made).is_parallel(), cores > 1) << loops_of(made);
    EXPECT_EQ(LoopsAround::origin(update_of(made).loops.front()), "k") << "read once\n"
                                                                       << loops_of(made);
  }
}

TEST(AutoTallReduction, neighbouring_results_run_in_lanes_where_terms_lie_apart) {
  const Schedule apart = on_cores(sums("1000000, 3; 1000000, 5", "A[k, i] * B[k, j]"), 2);
  EXPECT_EQ(update_of(apart).lanes_along(), "j") << loops_of(apart);
  EXPECT_EQ(update_of(apart).unrolled(), (std::set<std::string>{"i", "j"})) << loops_of(apart);
  EXPECT_TRUE(update_of(apart).loops.front().marks.is_parallel) << "terms\n" << loops_of(apart);
}

TEST(AutoTallReduction, rows_that_share_no_terms_are_not_read_in_blocks) {
  const auto rows = [](int64_t count, int64_t length) {
    return on_cores("input X: f32[" + std::to_string(count) + ", " + std::to_string(length) +
                        "]\noutput y: f32[" + std::to_string(count) + "]\ny[i] = sum(j, X[i, j])\n",
                    1);
  };
  for (const Schedule& each : {rows(72, 13824), rows(168, 281)}) {
    EXPECT_EQ(update_of(each).lanes_along(), "j") << loops_of(each);
    EXPECT_TRUE(update_of(each).unrolled().empty()) << loops_of(each);
  }
  EXPECT_EQ(update_of(rows(4, 300000)).unrolled(), std::set<std::string>{"i"}) << "all at once";
}

TEST(AutoTallReduction, one_row_of_results_is_added_up_in_several_copies) {
  const Schedule row = on_cores("input A: f32[1000000, 8], x: f32[1000000]\noutput y: f32[8]\n"
                                "y[j] = sum(k, x[k] * A[k, j])\n",
                                1);
  EXPECT_EQ(update_of(row).lanes_along(), "j") << loops_of(row);
  EXPECT_EQ(update_of(row).unrolled(), (std::set<std::string>{"j", "k"}))
      << "no addition waits for another\n"
      << loops_of(row);
}

TEST(AutoTallReduction, more_results_than_registers_are_taken_in_tiles) {
  const Schedule wide =
      on_cores("input A: f32[2, 100000], B: f32[17, 100000]\noutput C: f32[2, 17]\n"
               "C[i, j] = sum(k, A[i, k] * B[j, k])\n",
               1);
  EXPECT_EQ(update_of(wide).unrolled(), (std::set<std::string>{"i", "j"})) << loops_of(wide);
  EXPECT_EQ(update_of(wide).lanes_along(), "k") << loops_of(wide);
  EXPECT_GT(update_of(wide).depth_of_steps("j"), 0) << "tiles of columns\n" << loops_of(wide);
  EXPECT_GT(update_of(wide).depth_of_steps("k"), update_of(wide).depth_of_steps("j"))
      << "the terms of a tile run inside it\n"
      << loops_of(wide);
}

/// Packed, a product would transpose the terms element by element.
TEST(AutoTallReduction, terms_that_lie_together_come_before_products) {
  const Schedule square =
      on_cores("input A: f32[16, 50000], B: f32[16, 50000]\noutput C: f32[16, 16]\n"
               "C[i, j] = sum(k, A[i, k] * B[j, k])\n",
               1);
  EXPECT_FALSE(is_copied(square, "A") || is_copied(square, "B")) << loops_of(square);
  EXPECT_EQ(update_of(square).lanes_along(), "k") << loops_of(square);
  EXPECT_EQ(update_of(square).unrolled(), (std::set<std::string>{"i", "j"})) << loops_of(square);
}

TEST(AutoTallReduction, few_terms_are_not_worth_threads) {
  const auto is_spread = [](const std::string& terms) {
    return update_of(on_cores(sums("3, " + terms + "; 5, " + terms, "A[i, k] * B[j, k]"), 16))
        .is_parallel();
  };
  EXPECT_FALSE(is_spread("3000"));
  EXPECT_TRUE(is_spread("1000000"));
}

/// Rows and columns that share their terms: tiles of any number of them, begun and added up while
/// they are in registers.
TEST(AutoTallReduction, a_table_of_wide_vectors_is_summed_tile_by_tile) {
  const auto table = [](int64_t rows, int64_t columns, int64_t terms, int64_t cores) {
    return by_default(
        fmt::format("input A: f32[{0}, {2}], B: f32[{2}, {1}]\noutput C: f32[{0}, {1}]\n"
                    "C[i, j] = sum(k, A[i, k] * B[k, j])\n",
                    rows, columns, terms),
        "sapphirerapids", cores);
  };
  const Schedule sums = table(300, 2, 300, 1);
  EXPECT_EQ(update_of(sums).lanes_along(), "k") << loops_of(sums);
  EXPECT_EQ(update_of(sums).unrolled(), (std::set<std::string>{"i", "j"})) << loops_of(sums);
  EXPECT_TRUE(is_packed(sums, "B")) << "its terms lie apart\n" << loops_of(sums);
  const uint32_t combine = 2, begin = 3;
  for (const uint32_t other : {combine, begin}) {
    EXPECT_EQ(shared_loops(sums, 1, other), 1U) << loops_of(sums);
    EXPECT_EQ(around(sums, other).lanes_along(), "k") << loops_of(sums);
  }
  const Schedule large = table(4000, 3, 3000, 4);
  EXPECT_TRUE(update_of(large).loops.front().marks.is_parallel) << loops_of(large);
  EXPECT_EQ(LoopsAround::origin(update_of(large).loops.front()), "i") << loops_of(large);
  EXPECT_EQ(update_of(table(57, 13, 90, 1)).lanes_along(), "j") << "most of a vector";
}

TEST(AutoTallReduction, the_order_of_sums_stays_under_exact) {
  const std::string both = sums("3, 1000000; 5, 1000000", "A[i, k] * B[j, k]");
  const Schedule exact = on_cores("numerics exact\n" + both, 2);
  EXPECT_EQ(exact.scop.statements.size(), 2U) << loops_of(exact);
  EXPECT_NE(update_of(exact).lanes_along(), "k") << loops_of(exact);
  EXPECT_GT(on_cores(both, 2).scop.statements.size(), 2U) << "parts are added up afterwards";
}

/// Rows that are read again belong together; the maximum alone would read them from memory once
/// more.
TEST(AutoTallReduction, terms_that_others_read_stay_with_them) {
  const auto rows = [](const std::string& last) {
    return on_cores("input x: f32[3, 40000]\noutput y: f32[3, 40000]\n"
                    "temp m: f32[3]\n"
                    "m[i] = max(k, x[i, k])\n"
                    "y[i, k] = " +
                        last + " - m[i]\n",
                    1);
  };
  EXPECT_EQ(LoopsAround::origin(update_of(rows("x[i, k]")).loops.front()), "i")
      << loops_of(rows("x[i, k]"));
  EXPECT_GE(shared_loops(rows("x[i, k]"), 1, 2), 1U) << loops_of(rows("x[i, k]"));
}

TEST(AutoTallReduction, many_results_are_left_to_others) {
  const auto product = [](const std::string& rows) {
    return on_cores("input A: f32[" + rows + ", 10000], x: f32[10000]\noutput y: f32[" + rows +
                        "]\ny[i] = sum(k, A[i, k] * x[k])\n",
                    1);
  };
  EXPECT_EQ(LoopsAround::origin(update_of(product("2000")).loops.front()), "i")
      << loops_of(product("2000"));
  EXPECT_EQ(LoopsAround::origin(update_of(product("3")).loops.front()), "k")
      << loops_of(product("3"));
}

/// A sum of one row has lanes for its elements, and no other loop for threads.
TEST(AutoSplit, lanes_are_no_work_for_threads) {
  const Schedule row = on_cores("input A: f32[100000, 256], x: f32[100000]\noutput y: f32[256]\n"
                                "y[j] = sum(k, x[k] * A[k, j])\n",
                                4);
  EXPECT_TRUE(update_of(row).loops.front().marks.is_parallel) << loops_of(row);
  EXPECT_EQ(LoopsAround::origin(update_of(row).loops.front()), "k") << loops_of(row);
}

/// One panel has no loop over panels that its copy could be shared by.
TEST(AutoSplit, a_product_of_one_panel_is_packed_for_two_threads_too) {
  const Schedule panel =
      on_cores("input A: f32[16, 5000], B: f32[5000, 16]\noutput C: f32[16, 16]\n"
               "C[i, j] = sum(k, A[i, k] * B[k, j])\n",
               2);
  ASSERT_TRUE(is_packed(panel, "B")) << loops_of(panel);
  const LoopsAround copy = around(panel, 2);
  EXPECT_TRUE(copy.is_parallel()) << loops_of(panel);
  EXPECT_EQ(copy.lanes_along(), "j") << loops_of(panel);
}

TEST(AutoSplit, half_a_sum_is_worth_a_thread_from_some_microseconds_on) {
  const auto is_spread = [](int64_t n) {
    const std::string size = std::to_string(n);
    return update_of(on_cores("input x: f32[" + size + "], y: f32[" + size +
                                  "]\noutput s: f32\ns = sum(k, x[k] * y[k])\n",
                              2))
        .is_parallel();
  };
  EXPECT_TRUE(is_spread(1 << 19));
  EXPECT_FALSE(is_spread(1 << 17));
}

} // namespace
} // namespace kawara::schedule
