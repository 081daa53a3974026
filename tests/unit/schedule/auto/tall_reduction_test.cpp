#include "unit/schedule/programs.h"

// A few results and many terms: who shares the terms, which loop runs in lanes, and when all stays as it was.

namespace kawara::schedule {
namespace {

/// What `auto` makes of it for so many cores, loops only.
std::string few(const std::string& program, int64_t cores, const char* processor = "neoverse-n1") {
  Environment environment = test_environment();
  environment.cpu = *target::named_cpu(processor);
  environment.cpu.cores = cores;
  const auto made = apply(initial(program), Auto{}, environment);
  EXPECT_TRUE(made);
  return made ? "\n" + poly::print(made->order, poly::names_of_statements(made->scop)) : "refused";
}

/// The part of the loops that S1, the update, stands in.
std::string update_of(const std::string& loops) {
  const size_t end = loops.find("S1\n");
  const size_t begin = loops.rfind("\nfor ", end);
  return end == std::string::npos ? loops : loops.substr(begin, end + 3 - begin);
}

std::string sums(const std::string& shapes, const std::string& value) {
  return "input A: f32[" + shapes.substr(0, shapes.find(';')) + "], B: f32[" +
         shapes.substr(shapes.find(';') + 2) + "]\noutput C: f32[3, 5]\nC[i, j] = sum(k, " + value +
         ")\n";
}

TEST(AutoFewSums, results_stay_in_registers_and_threads_share_the_terms) {
  const std::string both = sums("3, 1000000; 5, 1000000", "A[i, k] * B[j, k]");
  EXPECT_EQ(update_of(few(both, 2)), "\n"
                                     "for k.0:  # parallel\n"
                                     "  for k.1.0:\n"
                                     "    for i:  # unroll\n"
                                     "      for j:  # unroll\n"
                                     "        for k.1.1:  # vector(4)\n"
                                     "          S1\n");
  EXPECT_EQ(update_of(few(both, 1)), "\n"
                                     "for k.0:\n"
                                     "  for i:  # unroll\n"
                                     "    for j:  # unroll\n"
                                     "      for k.1:  # vector(4)\n"
                                     "        S1\n");
}

TEST(AutoFewSums, neighbouring_results_run_in_lanes_where_terms_lie_apart) {
  const std::string apart = sums("1000000, 3; 1000000, 5", "A[k, i] * B[k, j]");
  EXPECT_EQ(update_of(few(apart, 2)), "\n"
                                      "for k.0:  # parallel\n"
                                      "  for k.1:\n"
                                      "    for i:  # unroll\n"
                                      "      for j:  # vector(4) unroll\n"
                                      "        S1\n");
}

TEST(AutoFewSums, one_row_of_results_is_added_up_in_several_copies) {
  const std::string row = "input A: f32[1000000, 8], x: f32[1000000]\noutput y: f32[8]\n"
                          "y[j] = sum(k, x[k] * A[k, j])\n";
  EXPECT_EQ(update_of(few(row, 1)), "\n"
                                    "for k.0:\n"
                                    "  for k.1:  # unroll\n"
                                    "    for j:  # vector(4) unroll\n"
                                    "      S1\n");
}

TEST(AutoFewSums, more_results_than_registers_are_taken_in_tiles) {
  const std::string wide = "input A: f32[2, 100000], B: f32[17, 100000]\noutput C: f32[2, 17]\n"
                           "C[i, j] = sum(k, A[i, k] * B[j, k])\n";
  EXPECT_EQ(update_of(few(wide, 1)), "\n"
                                     "for k.0:\n"
                                     "  for j.0:\n"
                                     "    for k.1.0:\n"
                                     "      for i:  # unroll\n"
                                     "        for j.1:  # unroll\n"
                                     "          for k.1.1:  # vector(4)\n"
                                     "            S1\n");
}

/// Packed, a product would turn the terms over element by element.
TEST(AutoFewSums, terms_that_lie_together_come_before_products) {
  const std::string square = "input A: f32[16, 50000], B: f32[16, 50000]\noutput C: f32[16, 16]\n"
                             "C[i, j] = sum(k, A[i, k] * B[j, k])\n";
  EXPECT_EQ(update_of(few(square, 1)), "\n"
                                       "for k.0:\n"
                                       "  for i.0:\n"
                                       "    for j.0:\n"
                                       "      for k.1.0:\n"
                                       "        for i.1:  # unroll\n"
                                       "          for j.1:  # unroll\n"
                                       "            for k.1.1:  # vector(4)\n"
                                       "              S1\n");
}

TEST(AutoFewSums, few_terms_are_not_worth_threads) {
  const std::string loops = few(sums("3, 3000; 5, 3000", "A[i, k] * B[j, k]"), 16);
  EXPECT_EQ(loops.find("parallel"), std::string::npos) << loops;
}

TEST(AutoFewSums, the_order_of_sums_stays_under_exact) {
  const std::string exact =
      few("numerics exact\n" + sums("3, 1000000; 5, 1000000", "A[i, k] * B[j, k]"), 2);
  EXPECT_EQ(exact.find("S2"), std::string::npos) << exact;
}

/// Rows that are read again belong together; the maximum alone would read them from memory once more.
TEST(AutoFewSums, terms_that_others_read_stay_with_them) {
  const std::string loops = few("input x: f32[3, 4000]\noutput y: f32[3, 4000]\n"
                                "temp m: f32[3]\n"
                                "m[i] = max(k, x[i, k])\n"
                                "y[i, k] = x[i, k] - m[i]\n",
                                1);
  EXPECT_EQ(loops.find("k.0"), std::string::npos) << loops;
}

TEST(AutoFewSums, many_results_are_left_to_others) {
  const std::string many = few("input A: f32[2000, 10000], x: f32[10000]\noutput y: f32[2000]\n"
                               "y[i] = sum(k, A[i, k] * x[k])\n",
                               2);
  EXPECT_EQ(many.find("k.0"), std::string::npos) << many;
}

/// A sum of one row has lanes for its elements, and no other loop for threads.
TEST(AutoSplit, lanes_are_no_work_for_threads) {
  const std::string row = few("input A: f32[100000, 256], x: f32[100000]\noutput y: f32[256]\n"
                              "y[j] = sum(k, x[k] * A[k, j])\n",
                              4);
  EXPECT_NE(row.find("for k.0:  # parallel"), std::string::npos) << row;
}

/// One panel has no loop over panels that its copy could be shared by.
TEST(AutoSplit, a_product_of_one_panel_is_packed_for_two_threads_too) {
  const std::string panel = few("input A: f32[16, 5000], B: f32[5000, 16]\noutput C: f32[16, 16]\n"
                                "C[i, j] = sum(k, A[i, k] * B[k, j])\n",
                                2);
  EXPECT_NE(panel.find("for k.1:  # parallel\n      for j.1.1:  # vector(4) unroll\n"),
            std::string::npos)
      << panel;
}

TEST(AutoSplit, half_a_sum_is_worth_a_thread_from_some_microseconds_on) {
  const auto dot = [](int64_t n) {
    return "input x: f32[" + std::to_string(n) + "], y: f32[" + std::to_string(n) +
           "]\noutput s: f32\ns = sum(k, x[k] * y[k])\n";
  };
  EXPECT_NE(few(dot(1 << 19), 2).find("parallel"), std::string::npos);
  EXPECT_EQ(few(dot(1 << 17), 2).find("parallel"), std::string::npos);
}

} // namespace
} // namespace kawara::schedule
