#include "unit/schedule/programs.h"

namespace kawara::schedule {
namespace {

TEST(Cut, makes_two_loops_in_order) {
  EXPECT_EQ(outcome(kAdd, "cut(i, 8)"), "\n"
                                        "for i.lo:\n"
                                        "  for j:\n"
                                        "    S0\n"
                                        "for i.hi:\n"
                                        "  for j:\n"
                                        "    S1\n");
  EXPECT_EQ(rows(kAdd, "cut(i, 8)"), "S0: [i] [j]\nS1: [i] [j]\n");
}

TEST(Cut, runs_the_upper_half_first_in_a_descending_loop) {
  EXPECT_EQ(outcome("param N\ninout A: f32[N]\nfor i in range(N - 1, -1, -1):\n    A[i] = 1\n",
                    "cut(i, 3)"),
            "\nfor i.hi:\n  S1\nfor i.lo:\n  S0\n");
}

TEST(Cut, compares_with_the_values_of_a_strided_loop) {
  const auto made = apply(initial("inout A: f32[12]\nfor i in range(0, 12, 4):\n    A[i] = 1\n"),
                          directives("cut(i, 8)"), test_environment());
  ASSERT_TRUE(made);
  const isl::set upper(made->scop.context_owner->get(), "{ S1[8] }");
  EXPECT_TRUE(made->scop.statements[1].domain.is_equal(upper));
}

TEST(Cut, leaves_a_statement_on_its_side) {
  EXPECT_EQ(outcome("inout A: f32[9]\nfor i in range(9):\n    A[i] = 1\n    if i < 3:\n"
                    "        A[i] = 2\n",
                    "cut(i, 5)"),
            "\nfor i.lo:\n  S0\n  S1\nfor i.hi:\n  S2\n");
}

TEST(Cut, refuses_an_empty_side) {
  EXPECT_EQ(outcome(kAdd, "cut(i, 0)"), "K0221: cannot cut loop `i` at 0");
}

} // namespace
} // namespace kawara::schedule
