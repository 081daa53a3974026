#include "unit/schedule/auto/facts.h"

#include <fmt/format.h>

namespace kawara::schedule {
namespace {

Schedule of_columns(const std::string& text, int64_t cores = 4) {
  return by_default(text, "neoverse-n1", cores);
}

std::string softmax_of_columns(int64_t planes, int64_t rows, int64_t columns) {
  return fmt::format("input X: f32[{0}, {1}, {2}]\noutput Y: f32[{0}, {1}, {2}]\n"
                     "temp M: f32[{0}, {2}], T: f32[{0}, {2}], E: f32[{0}, {1}, {2}]\n"
                     "M[a, c] = max(b, X[a, b, c])\nE[a, b, c] = exp(X[a, b, c] - M[a, c])\n"
                     "T[a, c] = sum(b, E[a, b, c])\nY[a, b, c] = E[a, b, c] / T[a, c]\n",
                     planes, rows, columns);
}

TEST(AutoColumns, planes_go_through_all_of_a_softmax) {
  for (const int64_t rows : {512, 21}) {
    const Schedule planes = of_columns(softmax_of_columns(64, rows, 196));
    EXPECT_TRUE(around(planes, 1).loops.front().marks.is_parallel) << loops_of(planes);
    for (const uint32_t statement : {0, 1, 2, 3, 4})
      EXPECT_GE(shared_loops(planes, statement, 5), 1U) << "a plane at a time\n"
                                                        << loops_of(planes);
    for (const uint32_t statement : {1, 2, 4, 5}) {
      EXPECT_EQ(around(planes, statement).lanes_along(), "c") << loops_of(planes);
      EXPECT_LT(around(planes, statement).depth_of_steps("a"),
                around(planes, statement).depth_of_steps("b"))
          << "along rows\n"
          << loops_of(planes);
    }
    EXPECT_TRUE(are_joined(planes, 2, 4)) << "exponentials are added up as they are made\n"
                                          << loops_of(planes);
  }
}

TEST(AutoColumns, walk_along_rows_without_planes) {
  const Schedule columns =
      of_columns("input X: f32[16384, 256], g: f32[16384]\noutput Y: f32[16384, 256]\n"
                 "temp s: f32[256]\ns[c] = sum(b, X[b, c] * X[b, c])\n"
                 "Y[b, c] = X[b, c] * rsqrt(s[c] + 1e-5) * g[b]\n",
                 1);
  ASSERT_EQ(around(columns, 1).loops.size(), 2U) << loops_of(columns);
  EXPECT_EQ(around(columns, 1).loops.front().name, "b") << loops_of(columns);
  EXPECT_EQ(around(columns, 1).lanes_along(), "c") << loops_of(columns);
}

TEST(AutoColumns, leave_rows_to_threads_where_lanes_are_few) {
  const std::string text = "input X: f32[100000, 64]\noutput Y: f32[100000, 64], t: f32[64]\n"
                           "Y[b, c] = exp(X[b, c])\nt[c] = sum(b, Y[b, c])\n";
  EXPECT_FALSE(are_joined(of_columns(text), 0, 2)) << loops_of(of_columns(text));
  EXPECT_TRUE(are_joined(of_columns(text, 1), 0, 2)) << loops_of(of_columns(text, 1));
}

TEST(AutoColumns, alone_are_read_as_before) {
  const Schedule columns = of_columns("input X: f32[4, 40, 64]\noutput m: f32[4, 64]\n"
                                      "m[a, c] = max(b, X[a, b, c])\n",
                                      1);
  EXPECT_FALSE(around(columns, 1).unrolled().empty()) << "a window that registers keep\n"
                                                      << loops_of(columns);
}

TEST(AutoColumns, short_rows_from_memory_are_one_stream) {
  const auto has_several = [](int64_t planes, int64_t columns) {
    return around(of_columns(fmt::format("input X: f32[{0}, 512, {1}]\noutput m: f32[{0}, {1}]\n"
                                         "m[a, c] = max(b, X[a, b, c])\n",
                                         planes, columns),
                             1),
                  1)
               .unrolled()
               .count("b") > 0;
  };
  EXPECT_FALSE(has_several(64, 196));
  EXPECT_TRUE(has_several(5, 196)) << "much of it stays in the L2";
  EXPECT_TRUE(has_several(4, 8192)) << "each row is a stream";
}

} // namespace
} // namespace kawara::schedule
