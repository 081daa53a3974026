#include "unit/schedule/programs.h"

#include <fmt/format.h>

namespace kawara::schedule {
namespace {

std::string loops_of_columns(const std::string& text, int64_t cores = 4) {
  const Schedule start = initial(text);
  Environment environment;
  environment.cpu = *target::named_cpu("neoverse-n1");
  environment.cpu.cores = cores;
  const auto result = apply(start, Auto{}, environment);
  EXPECT_TRUE(static_cast<bool>(result));
  return result ? poly::print(result->order, poly::names_of_statements(result->scop)) : "";
}

std::string softmax_of_columns(int64_t planes, int64_t rows, int64_t columns) {
  return fmt::format("input X: f32[{0}, {1}, {2}]\noutput Y: f32[{0}, {1}, {2}]\n"
                     "temp M: f32[{0}, {2}], T: f32[{0}, {2}], E: f32[{0}, {1}, {2}]\n"
                     "M[a, c] = max(b, X[a, b, c])\nE[a, b, c] = exp(X[a, b, c] - M[a, c])\n"
                     "T[a, c] = sum(b, E[a, b, c])\nY[a, b, c] = E[a, b, c] / T[a, c]\n",
                     planes, rows, columns);
}

TEST(AutoColumns, planes_go_through_all_of_a_softmax) {
  const std::string expected = "for a:  # parallel\n"
                               "  for c:  # vector(8)\n    S0\n"
                               "  for b:\n    for c:  # vector(8)\n      S1\n"
                               "  for c:  # vector(8)\n    S3\n"
                               "  for b:\n    for c:  # vector(32)\n      S2\n      S4\n"
                               "  for b:\n    for c:  # vector(16)\n      S5\n";
  EXPECT_EQ(loops_of_columns(softmax_of_columns(64, 512, 196)), expected);
  const std::string few = loops_of_columns(softmax_of_columns(64, 21, 196));
  EXPECT_EQ(few.substr(0, few.find("  for b:\n    for c:  # vector(8)\n      S5")),
            expected.substr(0, expected.find("  for b:\n    for c:  # vector(16)")))
      << "few rows are no window";
}

TEST(AutoColumns, walk_along_rows_without_planes) {
  const std::string loops =
      loops_of_columns("input X: f32[16384, 256], g: f32[16384]\noutput Y: f32[16384, 256]\n"
                       "temp s: f32[256]\ns[c] = sum(b, X[b, c] * X[b, c])\n"
                       "Y[b, c] = X[b, c] * rsqrt(s[c] + 1e-5) * g[b]\n",
                       1);
  EXPECT_NE(loops.find("for b:\n  for c:  # vector(8)\n    S1\n"), std::string::npos) << loops;
}

TEST(AutoColumns, leave_rows_to_threads_where_lanes_are_few) {
  const std::string text = "input X: f32[100000, 64]\noutput Y: f32[100000, 64], t: f32[64]\n"
                           "Y[b, c] = exp(X[b, c])\nt[c] = sum(b, Y[b, c])\n";
  const std::string joined = "S0\n    S2\n";
  EXPECT_EQ(loops_of_columns(text).find(joined), std::string::npos) << loops_of_columns(text);
  EXPECT_NE(loops_of_columns(text, 1).find(joined), std::string::npos) << loops_of_columns(text, 1);
}

TEST(AutoColumns, alone_are_read_as_before) {
  const std::string loops = loops_of_columns("input X: f32[4, 40, 64]\noutput m: f32[4, 64]\n"
                                             "m[a, c] = max(b, X[a, b, c])\n",
                                             1);
  EXPECT_NE(loops.find("# unroll"), std::string::npos) << "a window that registers keep\n" << loops;
}

TEST(AutoColumns, short_rows_from_memory_are_one_stream) {
  const auto has_several = [](int64_t planes, int64_t columns) {
    const std::string loops =
        loops_of_columns(fmt::format("input X: f32[{0}, 512, {1}]\noutput m: f32[{0}, {1}]\n"
                                     "m[a, c] = max(b, X[a, b, c])\n",
                                     planes, columns),
                         1);
    return loops.find("for b.1:  # unroll") != std::string::npos;
  };
  EXPECT_FALSE(has_several(64, 196));
  EXPECT_TRUE(has_several(5, 196)) << "much of it stays in the L2";
  EXPECT_TRUE(has_several(4, 8192)) << "each row is a stream";
}

} // namespace
} // namespace kawara::schedule
