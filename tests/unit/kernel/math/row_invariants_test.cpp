#include "unit/kernel/line.h"

namespace kawara {
namespace {

std::string after_row_invariants(const std::string& text, const std::string& directives = "") {
  std::string result;
  kernel::optimise(line::compile(text, directives).kernel, line::test_cpu(),
                   [&](std::string_view pass, const kernel::Kernel& k) {
                     if (pass == "row_invariants")
                       result = kernel::print(k);
                   });
  return result;
}

bool has_part(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr const char* kDivided = "input X: f32[9, 22], t: f32[22]\noutput Y: f32[9, 22]\n"
                                 "Y[i, j] = X[i, j] / t[j]\n";

TEST(RowInvariants, AreComputedBeforeTheRows) {
  const std::string program = "input X: f32[9, 22], m: f32[22], v: f32[22]\noutput Y: f32[9, 22]\n"
                              "Y[i, j] = (X[i, j] - m[j]) * rsqrt(v[j] + 1.5)\n";
  const std::string text = after_row_invariants(program, "vectorize(j, 4)");
  EXPECT_TRUE(has_part(text, "of_columns[j] = rsqrt(v[j] + 1.5)")) << text;
  EXPECT_TRUE(has_part(text, "Y[i, j] = (X[i, j] - m[j]) * of_columns[j]")) << text;
  line::expect_same(program, "vectorize(j, 4)", {{}});
}

TEST(RowInvariants, AreReciprocalsOfDivisorsToo) {
  const std::string text = after_row_invariants(kDivided, "vectorize(j, 4)");
  EXPECT_TRUE(has_part(text, "reciprocals[j] = 1.0 / t[j]")) << text;
  EXPECT_TRUE(has_part(text, "Y[i, j] = X[i, j] * reciprocals[j]")) << text;
  EXPECT_TRUE(has_part(text, "Y[i, j] = X[i, j] / t[j]")) << "for extreme divisors\n" << text;
  line::expect_same(kDivided, "vectorize(j, 4)", {{}});
  line::expect_same(kDivided, "parallel(i); vectorize(j, 4)", {{}});
}

TEST(RowInvariants, AreExactForExtremeDivisors) {
  // The reciprocal of 2e-39 is infinite.
  line::expect_same("input X: f32[9, 22]\noutput Y: f32[9, 22]\ntemp t: f32[22]\n"
                    "for j in range(22):\n    t[j] = 3.0\nt[5] = 2e-39\n"
                    "Y[i, j] = X[i, j] * 1e-20 / t[j]\n",
                    "", {{}});
}

TEST(RowInvariants, AreOwnedByThreads) {
  const std::string program = "input X: f32[3, 9, 22], t: f32[3, 22]\noutput Y: f32[3, 9, 22]\n"
                              "Y[a, i, j] = X[a, i, j] / t[a, j]\n";
  const std::string text = after_row_invariants(program, "parallel(a); vectorize(j, 4)");
  EXPECT_FALSE(has_part(text, "workspace reciprocals")) << text;
  EXPECT_TRUE(has_part(text, "reciprocals[j] = 1.0 / t[a, j]")) << text;
  line::expect_same(program, "parallel(a); vectorize(j, 4)", {{}});
  EXPECT_TRUE(has_part(after_row_invariants(program), "workspace reciprocals"));
}

TEST(RowInvariants, StartWhereAllRowsAgree) {
  const std::string program = "input X: f32[3, 9, 22], v: f32[22]\noutput Y: f32[3, 9, 22]\n"
                              "Y[a, i, j] = X[a, i, j] * sqrt(v[j])\n";
  const std::string text = after_row_invariants(program);
  EXPECT_LT(text.find("= sqrt("), text.find("for a")) << text;
  line::expect_same(program, "", {{}});
  const std::string joined = after_row_invariants(program, "coalesce(a, i)");
  EXPECT_LT(joined.find("= sqrt("), joined.find("for a")) << joined;
  line::expect_same(program, "coalesce(a, i)", {{}});
}

TEST(RowInvariants, LeaveOthersWhereTheyAre) {
  const auto text = [](const std::string& value) {
    return after_row_invariants(
        "input X: f32[9, 22], Z: f32[9, 22], s: f32[9], t: f32[22]\noutput Y: f32[9, 22]\n"
        "Y[i, j] = " +
        value + "\n");
  };
  for (const char* value :
       {"X[i, j] / Z[i, j]", "X[i, j] * sqrt(Z[i, j])", "X[i, j] / s[i]", "X[i, j] / 4.0",
        "X[i, j] + t[j]", "floor(X[i, j] / t[j])", "select(i > 3, sqrt(t[j]), X[i, j])"})
    EXPECT_FALSE(has_part(text(value), "workspace")) << value << "\n" << text(value);
  for (const char* value : {"X[i, j] / t[j]", "X[i, j] * sqrt(t[j])"})
    EXPECT_TRUE(has_part(text(value), "workspace")) << value << "\n" << text(value);
}

TEST(RowInvariants, NeedElementsThatStay) {
  const auto text = [](const std::string& result) {
    return after_row_invariants(
        "input X: f32[9, 22]\ninout t: f32[22], y: f32[22]\nfor i in range(9):\n"
        "    for j in range(22):\n        " +
        result + "[j] = X[i, j] / sqrt(t[j])\n");
  };
  EXPECT_FALSE(has_part(text("t"), "workspace")) << text("t");
  EXPECT_TRUE(has_part(text("y"), "workspace")) << text("y");
}

TEST(RowInvariants, AreNotReadForRowsThatDoNotRun) {
  const std::string text =
      after_row_invariants("param N\ninput X: f32[N, 22], t: f32[22]\noutput Y: f32[N, 22]\n"
                           "Y[i, j] = X[i, j] / t[j]\n");
  EXPECT_FALSE(has_part(text, "workspace")) << text;
  EXPECT_TRUE(has_part(after_row_invariants(kDivided), "workspace"));
}

TEST(RowInvariants, KeepQuotientsUnderExact) {
  const std::string text = after_row_invariants("numerics exact\n" + std::string(kDivided));
  EXPECT_FALSE(has_part(text, "reciprocals")) << text;
  EXPECT_TRUE(has_part(after_row_invariants(kDivided), "reciprocals"));
}

} // namespace
} // namespace kawara
