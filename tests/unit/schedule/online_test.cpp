#include "unit/schedule/programs.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

/// Rows of scores, their maximum m and the sum l of `term`, to be run in one pass.
std::string chain(const std::string& term, const std::string& reduce = "max(j, s[i, j])",
                  const std::string& start = "0") {
  return "param M, N\n"
         "input s: f32[M, N], t: f32[M, N], b: f32, c: f32[M]\n"
         "output l: f32[M]\n"
         "temp m: f32[M], w: f32[M, N]\n"
         "m[i] = " +
         reduce +
         "\n"
         "for i in range(M):\n"
         "    l[i] = " +
         start +
         "\n"
         "    for j in range(N):\n"
         "        l[i] += " +
         term + "\n";
}
constexpr const char* kOnePass = "fuse(S1.i, S3.i); online(S1.j, S3.j)";

/// What the new statements compute, in number order.
std::string added(const std::string& program, const std::string& schedule) {
  const Schedule start = initial(program);
  const auto result = apply(start, directives(schedule), test_environment());
  if (!result)
    return message(program, schedule);
  std::string text = "\n";
  for (uint32_t s = 0; s < result->scop.statements.size(); ++s) {
    const poly::StmtId id{s};
    const program::Statement& own = result->scop[id].text;
    text += own.name + " " + std::string(scalar::name_of(own.op)) + " " +
            scalar::to_string(own.value, poly::names_of(result->scop, id)) + "\n";
  }
  return text;
}

bool refuses(const std::string& program, const std::string& because,
             const std::string& schedule = kOnePass) {
  std::string text = message(program, schedule);
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::string one_line;
  for (const char c : text)
    if (c != ' ' || one_line.empty() || one_line.back() != ' ')
      one_line += c;
  const bool found =
      one_line.find("K0241") != std::string::npos && one_line.find(because) != std::string::npos;
  EXPECT_TRUE(found) << text;
  return found;
}

TEST(Online, corrects_the_sum_when_the_maximum_moves) {
  EXPECT_EQ(outcome(chain("exp(s[i, j] - m[i])"), kOnePass), "\n"
                                                             "for i:\n"
                                                             "  S0\n"
                                                             "  S2\n"
                                                             "  for j:\n"
                                                             "    S4\n"
                                                             "    S1\n"
                                                             "    S5\n"
                                                             "    S6\n"
                                                             "    S7\n"
                                                             "    S3\n"
                                                             "  S8\n");
  EXPECT_EQ(added(chain("exp(s[i, j] - m[i])"), kOnePass),
            "\n"
            "S0 none -inf\n"
            "S1 max s[i, j]\n"
            "S2 none 0.0\n"
            "S3 sum exp(nan_min(0.0, s[i, j] - m_now[i, j, i]))\n"
            "S4 none max(m[i], -3.4028235e+38)\n"
            "S5 none max(m[i], -3.4028235e+38)\n"
            "S6 none exp(nan_min(0.0, m_old[i, j, i] - m_now[i, j, i]))\n"
            "S7 prod m_factor[i, j, i]\n"
            "S8 sum select(m[i] < -3.4028235e+38, nan, 0.0)\n");
}

TEST(Online, accepts_products_with_one_exponential) {
  for (const char* term :
       {"exp(s[i, j] - m[i]) * t[i, j]", "t[i, j] * c[i] * exp(s[i, j] - m[i])",
        "exp(s[i, j] - m[i]) / 8", "-exp(s[i, j] - m[i])", "exp(2 * (s[i, j] - m[i]))",
        "exp(b * s[i, j] - b * m[i])", "exp(s[i, j] - m[i]) * exp(s[i, j] - m[i])",
        "exp(s[i, j] - m[i]) + t[i, j] * exp(s[i, j] - m[i])", "t[i, j] / m[i]",
        "t[i, j] * rsqrt(m[i] * 0.5 + 1)", "exp(s[i, j] - m[i]) / m[i]"})
    EXPECT_EQ(message(chain(term), kOnePass), "") << term;
  EXPECT_EQ(message(chain("exp(m[i] - s[i, j])", "min(j, s[i, j])"), kOnePass), "");
  EXPECT_EQ(message(chain("t[i, j] / m[i]", "sum(j, s[i, j])"), kOnePass), "");
}

TEST(Online, guards_corrections_that_may_grow) {
  const std::string text = added(chain("exp(b * s[i, j] - b * m[i])"), kOnePass);
  EXPECT_NE(text.find("S6 none select(m_old[i, j, i] == -3.4028235e+38, 0.0, "
                      "exp(b * (m_old[i, j, i] - m_now[i, j, i])))"),
            std::string::npos)
      << text;
}

TEST(Online, says_which_exponents_are_never_positive) {
  const auto bounds = [](const std::string& program) {
    const std::string text = added(program, kOnePass);
    size_t count = 0;
    for (size_t at = text.find("nan_min"); at != std::string::npos;
         at = text.find("nan_min", at + 1))
      ++count;
    return count;
  };
  EXPECT_EQ(bounds(chain("exp(s[i, j] - m[i]) * t[i, j]")), 2) << "of the term and of the factor";
  EXPECT_EQ(bounds(chain("exp(2 * (s[i, j] - m[i]))")), 0);
  EXPECT_EQ(bounds(chain("exp(b * s[i, j] - b * m[i])")), 0) << "b may be negative";
  EXPECT_EQ(bounds(chain("exp(m[i] - s[i, j])", "min(j, s[i, j])")), 0);
  std::string rounded = chain("exp(s[i, j] - m[i])");
  rounded.replace(rounded.find("m: f32"), 6, "m: f16");
  const std::string whole = "m[i] = max(j, s[i, j])\n"; // would be rounded once, at its end
  rounded.replace(rounded.find(whole), whole.size(),
                  "for i in range(M):\n    m[i] = -inf\n    for j in range(N):\n"
                  "        m[i] max= s[i, j]\n");
  EXPECT_EQ(bounds(rounded), 1) << "of the factor: both its sides are kept as they are";
}

TEST(Online, lets_constant_factors_wait) {
  const std::string text = added(chain("t[i, j] / m[i]", "sum(j, s[i, j])"), kOnePass);
  EXPECT_NE(text.find("S3 sum t[i, j]\nS4 none l[i] / m[i]\n"), std::string::npos) << text;
}

TEST(Online, refuses_terms_without_a_law) {
  refuses(chain("(s[i, j] - m[i]) * (s[i, j] - m[i])", "sum(j, s[i, j])"),
          "the two sides of `s[i, j] - m[i]` do not change by the same factor");
  refuses(chain("exp(s[i, j] - m[i]) + 1"), "do not change by the same factor");
  refuses(chain("exp(s[i, j] * m[i])"), "is neither a number nor a scalar input");
  refuses(chain("exp(s[i, j] - m[i] * m[i])"), "is not linear in `m[i]`");
  refuses(chain("sqrt(s[i, j] + m[i])"), "is not the same for all that S3 puts into one element");
  refuses(chain("exp(s[i, j] - m[i])", "sum(j, s[i, j])"), "is no maximum or minimum");
}

TEST(Online, refuses_exponents_that_the_maximum_does_not_bound) {
  refuses(chain("exp(t[i, j] - m[i])"), "not known to be bounded");
  refuses(chain("exp(s[i, N - 1 - j] - m[i])"), "in another iteration of loop `j`");
  refuses(chain("exp(s[i, j] - m[i])", "max(j in range(1, N), s[i, j])"),
          "S1 does not take in all of it");
}

TEST(Online, refuses_sums_that_do_not_start_from_zero) {
  refuses(chain("exp(s[i, j] - m[i])", "max(j, s[i, j])", "1"), "must start from 0");
}

TEST(Online, refuses_temps_that_others_read) {
  const std::string text = "param N\n"
                           "input s: f32[N]\n"
                           "output l: f32, y: f32[N]\n"
                           "temp w: f32[N], m: f32\n"
                           "m = max(j, s[j])\n"
                           "for j in range(N):\n"
                           "    w[j] = exp(s[j] - m)\n"
                           "l = sum(j, w[j])\n"
                           "y[j] = w[j]\n";
  refuses(text, "S5 uses `w`", "online(S1.j, S2.j, S4.j)");
}

TEST(Online, refuses_loops_where_nothing_is_needed) {
  EXPECT_EQ(outcome(chain("t[i, j]"), kOnePass),
            "K0240: cannot run loops `S1.j` and `S3.j` in one pass");
}

TEST(Online, refuses_exact_numerics) {
  EXPECT_EQ(outcome("numerics exact\n" + chain("exp(s[i, j] - m[i])"), kOnePass),
            "K0227: cannot run loops `S1.j` and `S3.j` in one pass");
}

TEST(Online, takes_no_unproved_order_as_the_source) {
  EXPECT_EQ(outcome(chain("exp(s[i, j] - m[i])"),
                    "fuse(S1.i, S3.i); [shift(S2.i, 1); online(S1.j, S3.j)]")
                .substr(0, 5),
            "K0240");
}

TEST(Online, needs_loops_inside_the_same_loops) {
  EXPECT_EQ(outcome(chain("exp(s[i, j] - m[i])"), "online(S1.j, S3.j)"),
            "K0214: cannot run loops `S1.j` and `S3.j` in one pass: they do not stand inside the "
            "same loops");
}

TEST(Online, corrects_once_a_tile) {
  EXPECT_EQ(outcome(chain("exp(s[i, j] - m[i])"),
                    "fuse(S1.i, S3.i); split(S1.j, 16); split(S3.j, 16); online(S1.j.0, S3.j.0)"),
            "\n"
            "for i:\n"
            "  S0\n"
            "  S2\n"
            "  for j.0:\n"
            "    S4\n"
            "    for j.1:\n"
            "      S1\n"
            "    S5\n"
            "    S6\n"
            "    S7\n"
            "    for j.1:\n"
            "      S3\n"
            "  S8\n");
}

} // namespace
} // namespace kawara::schedule
