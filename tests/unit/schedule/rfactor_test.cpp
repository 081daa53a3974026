#include "unit/schedule/programs.h"

namespace kawara::schedule {
namespace {

constexpr const char* kSum = R"(param N
input x: f32[N]
output s: f32[]
s = 0
for k in range(N):
    s += x[k]
)";

TEST(Rfactor, adds_start_and_combine_around_the_update) {
  EXPECT_EQ(outcome(kSum, "split(k, 8); rfactor(k.0)"), "\n"
                                                        "S0\n"
                                                        "for k.0:\n"
                                                        "  S3\n"
                                                        "for k.0:\n"
                                                        "  for k.1:\n"
                                                        "    S1\n"
                                                        "for k.0:\n"
                                                        "  S2\n");
}

TEST(Rfactor, makes_the_loop_parallel) {
  EXPECT_EQ(outcome(kSum, "split(k, 8); parallel(k.0)").substr(0, 5), "K0204");
  EXPECT_EQ(outcome(kSum, "split(k, 8); rfactor(k.0); parallel(S1.k.0)")[0], '\n');
}

TEST(Rfactor, stays_inside_the_loops_over_the_result) {
  EXPECT_EQ(outcome(kGemm, "split(k, 8); rfactor(k.0); parallel(S1.k.0)"),
            "\n"
            "for i:\n"
            "  for j:\n"
            "    S0\n"
            "    for k.0:\n"
            "      S3\n"
            "    for k.0:  # parallel\n"
            "      for k.1:\n"
            "        S1\n"
            "    for k.0:\n"
            "      S2\n");
}

TEST(Rfactor, refuses_a_loop_over_the_result) {
  EXPECT_EQ(outcome(kGemm, "rfactor(i)"), "K0224: cannot factor the reduction at loop `i`");
}

TEST(Rfactor, refuses_exact_numerics) {
  EXPECT_EQ(outcome(std::string("numerics exact\n") + kSum, "rfactor(k)"),
            "K0227: cannot factor the reduction at loop `k`");
}

} // namespace
} // namespace kawara::schedule
