#include "unit/schedule/programs.h"

namespace kawara::schedule {
namespace {

TEST(Inline, removes_the_producer) { EXPECT_EQ(outcome(kAhead, "inline(S0)"), "\nfor i:\n  S1\n"); }

TEST(Inline, substitutes_the_iteration_that_wrote_the_element) {
  const auto made = apply(initial(kAhead), directives("inline(S0)"), test_environment());
  ASSERT_TRUE(made);
  EXPECT_EQ(scalar::to_string(made->scop.statements[1].text.value,
                              poly::names_of(made->scop, poly::StmtId{1})),
            "x[i + 1] * 2.0");
}

TEST(Inline, refuses_an_output) {
  EXPECT_EQ(outcome(kAhead, "inline(S1)"), "K0223: cannot inline `S1`");
}

TEST(Inline, refuses_when_an_operand_changes_in_between) {
  const std::string text = message("param N\ninout x: f32[N], z: f32[N]\ntemp y: f32[N]\n"
                                   "for i in range(N):\n    y[i] = x[i]\n"
                                   "for i in range(N):\n    x[i] = 0\n"
                                   "for i in range(N):\n    z[i] = y[i]\n",
                                   "inline(S0)");
  EXPECT_NE(text.find("`x`, which S0 reads, is overwritten by S1 before S2 at (i=0)"),
            std::string::npos)
      << text;
}

TEST(Inline, refuses_an_update) {
  EXPECT_EQ(outcome("param N\ninput x: f32[N]\ntemp s: f32[]\noutput z: f32[N]\ns = 0\n"
                    "for i in range(N):\n    s += x[i]\nfor i in range(N):\n    z[i] = s\n",
                    "inline(S1)"),
            "K0223: cannot inline `S1`");
}

} // namespace
} // namespace kawara::schedule
