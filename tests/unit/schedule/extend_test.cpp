#include "unit/schedule/programs.h"

#include <algorithm>

// Zeros behind what is copied, and loops that run on over them.

namespace kawara::schedule {
namespace {

constexpr const char* kOdd = R"(input A: f32[5, 10], B: f32[12, 7]
output C: f32[5, 7]
for i in range(5):
    for j in range(7):
        for k in range(10):
            C[i, j] += A[i, k] * B[k, j]
)";

/// Whether the directives are legal; else the code and the first paragraph of the message.
std::string answer(const std::string& program, const std::string& text) {
  const Schedule start = initial(program);
  const auto result = apply(start, directives(text), test_environment());
  if (result)
    return "legal";
  const Diagnostic d = explain(start, result.error(), test_environment());
  std::string said = d.code + (d.body.empty() ? "" : " " + d.body.front());
  std::replace(said.begin(), said.end(), '\n', ' ');
  return said;
}

TEST(Extend, text_is_kept) {
  for (const std::string text :
       {"extend(k, 4)", "pad(T, d1, to=8)", "pad(T, d1, 8)", "stage(B, k.0, d0=4, d1=12)",
        "stage(B, k.0, panel=1, width=12, d0=4)"})
    EXPECT_EQ(print(directives(text)), text);
  EXPECT_EQ(print(directives("stage(B, d1=8, loop=k, d0=4)")), "stage(B, k, d0=4, d1=8)");
}

TEST(Extend, zeros_go_where_nothing_is_copied) {
  const auto s =
      apply(initial(kOdd), directives("split(i, 4); stage(A, i.0, d1=4)"), test_environment());
  ASSERT_TRUE(s);
  ASSERT_EQ(s->scop.statements.size(), 3U);
  const isl::set expected(s->scop.context_owner->get(),
                          "{ S2[t, r, c] : 0 <= t < 2 and 0 <= r < 4 and 0 <= c < 12 and "
                          "(c >= 10 or 4t + r >= 5) }");
  EXPECT_TRUE(s->scop.statements[2].domain.is_equal(expected));
}

TEST(Extend, whole_blocks_are_added_where_the_last_was_cut_off) {
  const auto both = apply(initial(kOdd),
                          directives("stage(A, i, d1=4); stage(B, i, d0=4); split(k, 8); "
                                     "extend(k.1, 4)"),
                          test_environment());
  ASSERT_TRUE(both);
  const isl::set expected(both->scop.context_owner->get(),
                          "{ S0[i, j, k] : 0 <= i < 5 and 0 <= j < 7 and 0 <= k < 12 }");
  EXPECT_TRUE(both->scop.statements[0].domain.is_equal(expected));
}

/// compute_at leaves S0 an iterator that another one fixes, without a loop: more iterations would
/// run at one time.
TEST(Extend, statements_with_a_fixed_iterator_do_not_run_on) {
  const std::string made = answer("inout A: i32[5, 5]\ntemp T: i32[4]\nfor i in range(4):\n"
                                  "    T[i] = 0\nfor i in range(4):\n"
                                  "    A[i + 1, i + 1] = T[i] + 0\n",
                                  "compute_at(S0, S1.i); extend(i, 4)");
  EXPECT_EQ(made.rfind("K0260 S0 does not run for every value of", 0), 0u) << made;
}

TEST(Extend, loops_with_a_step_do_not_run_on) {
  // i // 2 is the time of i = 0 and of i = 1.
  EXPECT_EQ(answer("inout A: f32\nfor i in range(0, 2, 2):\n    A = A + 0\n", "extend(i, 2)"),
            "K0260 S0 does not run for every value of `i`: it is not clear which ones should "
            "follow.");
}

TEST(Extend, a_multiple_stays_as_it_is) {
  EXPECT_EQ(answer(kOdd, "extend(k, 5)"), "legal");
  EXPECT_EQ(answer(kOdd, "extend(k, 1)"), "legal");
}

TEST(Extend, zero_times_infinity_is_no_zero) {
  EXPECT_EQ(answer(kOdd, "stage(A, i, d1=4); extend(k, 4)"),
            "K0260 S0 at i = 0, j = 0, k = 10 would add to `C[0, 0]` what is made of "
            "`A_staged[0, 10]` and `B[10, 0]`, and `B[10, 0]` is not known to be zero.");
  EXPECT_EQ(answer(kOdd, "stage(A, i, d1=4); stage(B, i, d0=4); extend(k, 4)"), "legal");
}

TEST(Extend, one_zero_is_enough_for_integers) {
  std::string text = kOdd;
  for (size_t at = text.find("f32"); at != std::string::npos; at = text.find("f32"))
    text.replace(at, 3, "i32");
  EXPECT_EQ(answer(text, "stage(A, i, d1=4); extend(k, 4)"), "legal");
  EXPECT_EQ(answer(text, "stage(B, i, d0=4); extend(k, 4)"),
            "K0260 S0 at i = 0, j = 0, k = 10 would read `A[0, 10]`, and `A` has 10 elements along "
            "d1.");
}

TEST(Extend, an_integer_is_finite_as_a_float) {
  const char* scaled = R"(input A: f32[10], q: i8[12]
output s: f32[1]
for k in range(10):
    s[0] += A[k] * f32(q[k])
)";
  EXPECT_EQ(answer(scaled, "pad(A, d0, to=4); extend(k, 4)"), "legal");
}

TEST(Extend, terms_that_are_made_of_zeros_need_not_be_zero) {
  const auto sum_of = [](const std::string& value) {
    return "input A: f32[10]\noutput s: f32[1]\nfor k in range(10):\n    s[0] += " + value + "\n";
  };
  const std::string directives = "pad(A, d0, to=4); extend(k, 4)";
  EXPECT_EQ(answer(sum_of("A[k] * A[k]"), directives), "legal");
  EXPECT_EQ(answer(sum_of("abs(A[k])"), directives), "legal");
  EXPECT_EQ(answer(sum_of("2.0 * A[k]"), directives), "legal");
  EXPECT_EQ(answer(sum_of("max(A[k], 0)"), directives), "legal");
  for (const std::string value : {"exp(A[k])", "A[k] + 1", "A[k] / A[k]", "(A[k] - 1) * A[k]"})
    EXPECT_EQ(answer(sum_of(value), directives).substr(0, 5), "K0260") << value;
}

TEST(Extend, zeros_of_the_program_itself_count) {
  const auto program = [](const std::string& behind) {
    return "input A: f32[10], B: f32[10]\noutput s: f32[1]\ntemp P: f32[12], Q: f32[12]\n"
           "for t in range(10):\n    P[t] = A[t]\n    Q[t] = B[t]\n"
           "for z in range(10, 12):\n    P[z] = 0\n    Q[z] = " +
           behind + "\nfor k in range(10):\n    s[0] += P[k] * Q[k]\n";
  };
  EXPECT_EQ(answer(program("0"), "extend(k, 4)"), "legal");
  EXPECT_EQ(answer(program("1"), "extend(k, 4)").substr(0, 5), "K0260");
}

TEST(Extend, a_element_that_is_written_again_is_no_zero) {
  const char* twice = R"(input A: f32[12]
output s: f32[1]
temp P: f32[12]
for z in range(12):
    P[z] = 0
for t in range(11):
    P[t] = A[t]
for k in range(10):
    s[0] += P[k] * P[k]
)";
  EXPECT_EQ(answer(twice, "extend(k, 4)").substr(0, 5), "K0260");
  EXPECT_EQ(answer(twice, "extend(k, 2)"), "legal");
}

TEST(Extend, zeros_must_come_before_they_are_read) {
  const char* late = R"(input A: f32[10]
output s: f32[1]
temp P: f32[12]
for t in range(10):
    P[t] = A[t]
for k in range(10):
    s[0] += P[k] * P[k]
for z in range(10, 12):
    P[z] = 0
)";
  EXPECT_EQ(answer(late, "extend(k, 4)"),
            "K0260 S1 at k = 10 would read `P[10]`, which nothing has written.");
}

TEST(Extend, results_may_go_where_nobody_looks) {
  const std::string held =
      "split(j, 8); reorder(j.0, i, k, j.1); stage(B, j.0, d1=8); promote(C, k); ";
  EXPECT_EQ(
      answer(kOdd, held + "extend(j.1, 8)"),
      "K0260 S0 at i = 0, j = 7, k = 0 would write `C_held[0, 7]`, and `C_held` has 7 elements "
      "along d1.");
  EXPECT_EQ(answer(kOdd, held + "pad(C_held, d1, to=8); extend(j.1, 8)"), "legal");
  EXPECT_EQ(
      answer(kOdd, held + "pad(C_held, d1, to=8); extend(j.1, 8); extend(S3.d1, 8)"),
      "K0260 S3 at j.0 = 0, i = 0, d0 = 0, d1 = 7 would read `C[0, 7]`, and `C` has 7 elements "
      "along d1.");
}

TEST(Extend, integers_are_not_divided_by_zeros) {
  const char* ratio = R"(input A: i32[10], B: i32[10]
output C: i32[10]
temp T: i32[12]
for t in range(10):
    T[t] = A[t] // B[t]
for k in range(10):
    C[k] = T[k]
)";
  EXPECT_EQ(answer(ratio, "pad(A, d0, to=4); pad(B, d0, to=4); extend(t, 4)"),
            "K0260 S0 at t = 10 would divide integers, and by zero that fails.");
}

TEST(Extend, exact_keeps_minus_zero) {
  const std::string directives = "stage(A, i, d1=4); stage(B, i, d0=4); extend(k, 4)";
  EXPECT_EQ(answer(std::string("numerics exact\n") + kOdd, directives).substr(0, 5), "K0227");
}

TEST(Extend, what_follows_is_judged_with_what_was_added) {
  // The zeros of the copy must still come before the loop that runs over them.
  EXPECT_EQ(answer(kOdd, "stage(A, i, d1=4); stage(B, i, d0=4); extend(k, 4); "
                         "split(k, 4); reorder(k.1, k.0); vectorize(k.0, 2)")
                .substr(0, 5),
            "legal");
  EXPECT_EQ(
      answer(kOdd, "stage(A, i, d1=4); stage(B, i, d0=4); extend(k, 4); parallel(k)").substr(0, 5),
      "K0204");
}

} // namespace
} // namespace kawara::schedule
