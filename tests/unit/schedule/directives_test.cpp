#include "unit/schedule/programs.h"

namespace kawara::schedule {
namespace {

TEST(Split, makes_tiles_and_points) {
  EXPECT_EQ(outcome(kPrefixSum, "split(i, 32)"), "\nfor i.0:\n  for i.1:\n    S0\n");
  EXPECT_EQ(rows(kPrefixSum, "split(i, 32)"), "S0: [i // 32] [i % 32]\n");
}

TEST(Split, names_nest_on_a_second_split) {
  EXPECT_EQ(outcome(kPrefixSum, "split(i, 32); split(i.1, 8)"),
            "\nfor i.0:\n  for i.1.0:\n    for i.1.1:\n      S0\n");
}

TEST(Split, refuses_size_zero) {
  EXPECT_EQ(outcome(kAdd, "split(i, 0)"),
            "K0212: cannot split loop `i`: the size must be at least 1");
}

TEST(Tile, puts_tile_loops_outside) {
  EXPECT_EQ(outcome(kAdd, "tile(i=64, j=16)"), "\n"
                                               "for i.0:\n"
                                               "  for j.0:\n"
                                               "    for i.1:  # isolated\n"
                                               "      for j.1:  # isolated\n"
                                               "        S0\n");
  EXPECT_EQ(rows(kAdd, "tile(i=64, j=16)"), "S0: [i // 64] [j // 16] [i % 64] [j % 16]\n");
}

TEST(Tile, asks_for_a_loop_once) {
  EXPECT_EQ(outcome(kAdd, "tile(i=4, i=4)"),
            "K0220: cannot tile loops `i` and `i`: `i` is named twice");
}

TEST(Interchange, swaps_rows_with_loops) {
  EXPECT_EQ(outcome(kAdd, "interchange(i, j)"), "\nfor j:\n  for i:\n    S0\n");
  EXPECT_EQ(rows(kAdd, "interchange(j, i)"), "S0: [j] [i]\n");
}

TEST(Reorder, leaves_unlisted_loops_in_place) {
  EXPECT_EQ(rows(kAdd, "tile(i=8, j=8); reorder(j.1, i.0)"),
            "S0: [j % 8] [j // 8] [i % 8] [i // 8]\n");
}

TEST(Skew, adds_a_multiple_of_the_other_row) {
  EXPECT_EQ(rows(kJacobi, "skew(i, by=t, factor=2)"), "S0: [t] [i + t * 2]\n");
  EXPECT_EQ(outcome(kJacobi, "skew(i, by=t, factor=0)"),
            "K0212: cannot skew loop `i` by `t`: the factor must not be 0");
}

TEST(Shift, moves_one_statement_only) {
  EXPECT_EQ(rows(kAhead, "shift(S1.i, 2)"), "S0: [i]\nS1: [i + 2]\n");
}

TEST(Fuse, brings_equal_values_together) {
  EXPECT_EQ(outcome(kAhead, "shift(S1.i, 1); fuse(S0.i, S1.i)"), "\nfor i:\n  S0\n  S1\n");
  EXPECT_EQ(outcome(kAhead, "fuse(S0.i, S0.i)"),
            "K0220: cannot fuse loops `S0.i` and `S0.i`: they are one loop already");
}

TEST(Fuse, needs_the_same_loops_around) {
  EXPECT_EQ(outcome(kGemm, "distribute(i); fuse(S0.j, S1.j)"),
            "K0214: cannot fuse loops `S0.j` and `S1.j`: they do not stand inside the same loops");
}

TEST(Distribute, copies_the_loops_between) {
  EXPECT_EQ(outcome(kGemm, "distribute(i)"), "\n"
                                             "for i:\n"
                                             "  for j:\n"
                                             "    S0\n"
                                             "for i:\n"
                                             "  for j:\n"
                                             "    for k:\n"
                                             "      S1\n");
  EXPECT_EQ(outcome(kAdd, "distribute(i)"),
            "K0218: cannot distribute loop `i`: it holds one statement only");
}

TEST(Fuse, has_the_start_of_a_sum_before_it) {
  const std::string text = R"(param N
input x: f32[N]
output y: f32[N], s: f32[1], t: f32[1]
for i in range(N):
    y[i] = x[i] * 2
s[0] = 0
for i in range(N):
    s[0] += y[i]
)";
  EXPECT_EQ(outcome(text, "fuse(S0.i, S2.i)"), "\nS1\nfor i:\n  S0\n  S2\n");
  std::string other = text;
  other.replace(other.find("s[0] = 0"), 8, "t[0] = 0");
  other.replace(other.find("s[0] +="), 7, "s[0] =");
  EXPECT_EQ(outcome(other, "fuse(S0.i, S2.i)"), "\nfor i:\n  S0\n  S2\nS1\n")
      << "what neither uses comes after it";
}

TEST(Distribute, undoes_fuse) {
  EXPECT_EQ(outcome(kGemm, "distribute(i); fuse(S0.i, S1.i)"), "\n"
                                                               "for i:\n"
                                                               "  for j:\n"
                                                               "    S0\n"
                                                               "  for j:\n"
                                                               "    for k:\n"
                                                               "      S1\n");
}

TEST(Coalesce, gives_one_name_to_two_loops) {
  EXPECT_EQ(outcome(kAdd, "coalesce(i, j); parallel(i_j)"), "\nfor i_j:  # parallel\n  S0\n");
  EXPECT_EQ(outcome(kAdd, "coalesce(i, j); parallel(j)"),
            "K0201: cannot run loop `j` in parallel: no loop is called `j`");
  EXPECT_EQ(outcome(kTriangle, "coalesce(i, j)"),
            "K0215: cannot coalesce loops `i` and `j`: the bounds of `j` depend on `i`");
}

TEST(Coalesce, splits_when_the_inner_extent_is_a_number) {
  const char* program = "param N\noutput A: f32[N, 10]\nfor i in range(N):\n"
                        "    for j in range(10):\n        A[i, j] = 1\n";
  EXPECT_EQ(rows(program, "coalesce(i, j); split(i_j, 4)"),
            "S0: [(i * 10 + j) // 4] [(i * 10 + j) % 4]\n");
  EXPECT_EQ(outcome(kAdd, "coalesce(i, j); split(i_j, 4)"),
            "K0219: cannot split loop `i_j`: its inner part `j` has no constant extent");
}

TEST(Isolate, wants_a_point_loop) {
  EXPECT_EQ(outcome(kAdd, "split(j, 4); isolate(j.1)"),
            "\nfor i:\n  for j.0:\n    for j.1:  # isolated\n      S0\n");
  EXPECT_EQ(outcome(kAdd, "isolate(j)"),
            "K0216: cannot isolate the full tiles of loop `j`: it is no point loop");
}

TEST(Unroll, completely_needs_a_constant_extent) {
  EXPECT_EQ(outcome(kAdd, "split(j, 4); unroll(j.1)"),
            "\nfor i:\n  for j.0:\n    for j.1:  # unroll\n      S0\n");
  EXPECT_EQ(outcome(kAdd, "unroll(j)"), "K0219: cannot unroll loop `j` completely: its number of "
                                        "iterations depends on the sizes");
}

TEST(Vectorize, takes_the_width_of_the_machine) {
  const auto result = apply(initial(kAdd), directives("vectorize(j)"), test_environment());
  ASSERT_TRUE(result);
  EXPECT_EQ(result->order[poly::path_of(result->order, poly::StmtId{0})[1]].marks.vector_width, 4);
}

TEST(Vectorize, stays_innermost) {
  EXPECT_EQ(outcome(kAdd, "vectorize(i, 4)"),
            "K0213: cannot vectorize loop `i`: it is not an innermost loop");
  EXPECT_EQ(outcome(kAdd, "vectorize(j, 4); interchange(i, j)"),
            "K0213: cannot interchange loops `i` and `j`: the vector loop `j` would have a loop "
            "inside");
}

TEST(Vectorize, refuses_a_dependence_nearer_than_the_width) {
  const char* program = "param N\ninout a: f32[N]\nfor i in range(4, N):\n    a[i] = a[i - 4]\n";
  EXPECT_EQ(outcome(program, "vectorize(i, 8)"),
            "K0205: cannot vectorize loop `i` of statement S0");
  EXPECT_EQ(outcome(program, "vectorize(i, 4)"), "\nfor i:  # vector(4)\n  S0\n");
}

TEST(Parallel, mark_is_judged_with_every_later_directive) {
  EXPECT_EQ(outcome(kGemm, "parallel(k)"),
            "K0204: cannot run loop `k` of statement S1 in parallel");
}

TEST(Parallel, offers_partial_results_for_a_reduction) {
  const std::string text = message(kGemm, "parallel(k)");
  EXPECT_NE(text.find("split(k, 64); rfactor(k.0); parallel(S1.k.0)     checked: legal"),
            std::string::npos)
      << text;
}

TEST(Group, is_judged_as_a_whole) {
  EXPECT_EQ(outcome(kPrefixSum, "[reverse(i); reverse(i)]"), "\nfor i:\n  S0\n");
  EXPECT_EQ(outcome(kPrefixSum, "reverse(i); reverse(i)"),
            "K0203: cannot reverse loop `i` of statement S0");
}

TEST(LoopName, must_mean_one_loop) {
  EXPECT_EQ(outcome(kGemm, "distribute(i); split(j, 3)"),
            "K0202: cannot split loop `j`: 2 loops are called `j`");
  EXPECT_EQ(outcome(kGemm, "split(S7.j, 3)"),
            "K0207: cannot split loop `S7.j`: there is no statement `S7`");
}

} // namespace
} // namespace kawara::schedule
