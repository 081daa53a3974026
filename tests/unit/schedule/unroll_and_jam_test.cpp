#include "unit/schedule/programs.h"

namespace kawara::schedule {
namespace {

TEST(UnrollAndJam, sinks_the_copies_innermost) {
  EXPECT_EQ(outcome(kAdd, "unroll_and_jam(i, 4)"), "\n"
                                                   "for i:\n"
                                                   "  for j:\n"
                                                   "    for i.u:  # unroll isolated\n"
                                                   "      S0\n");
  EXPECT_EQ(rows(kAdd, "unroll_and_jam(i, 4)"), "S0: [i // 4] [j] [i % 4]\n");
}

TEST(UnrollAndJam, wraps_each_run_of_statements) {
  EXPECT_EQ(rows(kGemm, "unroll_and_jam(i, 2)"),
            "S0: [i // 2] [j] [i % 2]\nS1: [i // 2] [j] [k] [i % 2]\n");
}

TEST(UnrollAndJam, stays_outside_a_vector_loop) {
  EXPECT_EQ(rows(kAdd, "vectorize(j, 4); unroll_and_jam(i, 2)"), "S0: [i // 2] [i % 2] [j]\n");
}

TEST(UnrollAndJam, is_judged) {
  EXPECT_EQ(outcome(kJacobi, "unroll_and_jam(t, 2)").substr(0, 5), "K0203");
}

TEST(UnrollAndJam, offers_unroll_for_an_innermost_loop) {
  EXPECT_EQ(outcome(kPrefixSum, "unroll_and_jam(i, 4)"),
            "K0226: cannot unroll and jam loop `i`: it is innermost");
  EXPECT_NE(message(kPrefixSum, "unroll_and_jam(i, 4)").find("unroll(i, 4)"), std::string::npos);
}

} // namespace
} // namespace kawara::schedule
