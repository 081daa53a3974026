#include "unit/schedule/programs.h"

// Which loop asks for which elements; nothing else of an order changes.

namespace kawara::schedule {
namespace {

/// "C+1 A+4": what the loop at that depth of S0 asks for, and how far ahead.
std::string asked_for(const std::string& program, const std::string& text, size_t depth) {
  const auto made = apply(initial(program), directives(text), test_environment());
  if (!made)
    return "refused";
  std::string said;
  const auto path = poly::path_of(made->order, poly::StmtId{0});
  for (const poly::Prefetched& p : made->order[path.at(depth)].marks.prefetches)
    said += (said.empty() ? "" : " ") + made->scop.tensors[p.tensor].name + "+" +
            std::to_string(p.ahead);
  return said;
}

TEST(Prefetch, text_is_kept) {
  EXPECT_EQ(print(directives("prefetch(C, i.1)")), "prefetch(C, i.1)");
  EXPECT_EQ(print(directives("prefetch(C, i.1, ahead=2)")),
            print(directives("prefetch(C, i.1, 2)")));
}

TEST(Prefetch, marks_the_loop_and_leaves_the_order_as_it_is) {
  EXPECT_EQ(outcome(kAdd, "prefetch(C, i)"), "\n"
                                             "for i:  # prefetch\n"
                                             "  for j:\n"
                                             "    S0\n");
  EXPECT_EQ(rows(kAdd, "prefetch(C, i)"), rows(kAdd, ""));
  EXPECT_EQ(asked_for(kAdd, "prefetch(C, i)", 0), "C+1");
  EXPECT_EQ(asked_for(kAdd, "prefetch(C, i)", 1), "");
}

TEST(Prefetch, adds_up_over_tensors_and_replaces_for_one) {
  EXPECT_EQ(asked_for(kAdd, "prefetch(C, i); prefetch(A, i, 4)", 0), "C+1 A+4");
  EXPECT_EQ(asked_for(kAdd, "prefetch(C, i); prefetch(A, i, 4); prefetch(C, i, 2)", 0), "A+4 C+2");
}

TEST(Prefetch, is_legal_where_nothing_may_be_reordered) {
  EXPECT_EQ(asked_for(kPrefixSum, "prefetch(s, i, 64)", 0), "s+64");
  EXPECT_EQ(asked_for(kJacobi, "prefetch(A, t)", 0), "A+1");
}

TEST(Prefetch, stays_with_a_loop_that_other_directives_change) {
  EXPECT_EQ(asked_for(kAdd, "prefetch(A, i, 3); parallel(i)", 0), "A+3");
  EXPECT_EQ(asked_for(kAdd, "split(i, 4); prefetch(A, i.1); vectorize(j, 4)", 1), "A+1");
}

TEST(Prefetch, refuses_what_the_loop_does_not_touch) {
  const char* two = "param N\ninput A: f32[N]\noutput B: f32[N], C: f32[N]\n"
                    "for i in range(N):\n    B[i] = A[i] + 1\nfor i in range(N):\n    C[i] = 2\n";
  EXPECT_EQ(outcome(two, "prefetch(A, S1.i)"), "K0245: cannot prefetch `A` at loop `S1.i`");
  EXPECT_NE(
      message(two, "prefetch(A, S1.i)").find("No statement below this loop reads or writes `A`."),
      std::string::npos);
  EXPECT_EQ(outcome(two, "prefetch(D, S1.i)"),
            "K0208: cannot prefetch `D` at loop `S1.i`: there is no tensor `D`");
}

TEST(Prefetch, refuses_distances_that_are_none) {
  for (const char* ahead : {"0", "65"})
    EXPECT_EQ(outcome(kAdd, std::string("prefetch(A, i, ") + ahead + ")"),
              "K0212: cannot prefetch `A` at loop `i`: it can look 1 to 64 iterations ahead");
}

TEST(Prefetch, refuses_a_loop_that_is_no_loop_any_more) {
  EXPECT_EQ(outcome(kAdd, "vectorize(j, 4); prefetch(A, j)"),
            "K0217: cannot prefetch `A` at loop `j`: `j` is a vector loop");
  EXPECT_EQ(outcome(kAdd, "unroll(j, 4); prefetch(A, j)").substr(0, 5), "K0217");
  EXPECT_EQ(outcome(kAdd, "coalesce(i, j); prefetch(A, i_j)").substr(0, 5), "K0217");
}

} // namespace
} // namespace kawara::schedule
