#include "program/rewrites/dense_strides.h"

#include "unit/program/same_elements.h"

namespace kawara::program {
namespace {

Program parsed_strides(const std::string& text) {
  auto program = parse(make_source("strides.kw", text));
  EXPECT_TRUE(program) << render(program.error());
  return *std::move(program);
}

/// The program with copies computes the same; its listing.
std::string with_copies(const std::string& text) {
  const Program plain = parsed_strides(text);
  const auto other = with_dense_strides(plain);
  EXPECT_TRUE(other) << text;
  if (!other)
    return "";
  expect_same_elements(plain, *other);
  return print(*other);
}

bool has_copies(const std::string& text) {
  return with_dense_strides(parsed_strides(text)).has_value();
}

TEST(DenseStrides, MakeAProductOfOneLongRow) {
  const std::string text = with_copies("input X: f32[3, 13, 19]\nconst W: f32[5, 3]\n"
                                       "output Y: f32[5, 5, 7]\n"
                                       "Y[k, h, w] = sum(c, X[c, 3 * h, 3 * w] * W[k, c])\n");
  EXPECT_NE(text.find("input X: f32[3, 13, 19]"), std::string::npos) << text;
  EXPECT_NE(text.find("temp X_dense: f32[3, 35]"), std::string::npos) << text;
  EXPECT_NE(text.find("X_dense[d0, d1 * 7 + d2] = X[d0, d1 * 3, d2 * 3]"), std::string::npos);
  EXPECT_NE(text.find("for h_w in range(35)"), std::string::npos) << text;
  EXPECT_EQ(text.find("apart"), std::string::npos) << text;
}

TEST(DenseStrides, GoThroughGroupsAndWhatComesAfter) {
  const std::string text =
      with_copies("input X: f32[2, 3, 9, 14], B: f32[2, 4]\nconst W: f32[2, 4, 3]\n"
                  "output Y: f32[2, 4, 5, 7]\ntemp T: f32[2, 4, 5, 7]\n"
                  "T[g, k, h, w] = sum(c, W[g, k, c] * X[g, c, 2 * h, 2 * w + 1])\n"
                  "Y[g, k, h, w] = max(T[g, k, h, w] + B[g, k], 0)\n");
  EXPECT_NE(text.find("X_dense[d0, d1, d2 * 7 + d3] = X[d0, d1, d2 * 2, d3 * 2 + 1]"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("output Y: f32[2, 4, 35]"), std::string::npos) << text;
}

TEST(DenseStrides, JoinRowsOfWholeVectors) {
  const std::string text = with_copies("input X: f32[3, 16, 24]\nconst W: f32[5, 3]\n"
                                       "output Y: f32[5, 6, 8]\n"
                                       "Y[k, h, w] = sum(c, X[c, 3 * h, 3 * w] * W[k, c])\n");
  EXPECT_NE(text.find("temp X_dense: f32[3, 48]"), std::string::npos) << text;
}

/// What else reads or makes the elements walks through them as before.
TEST(DenseStrides, LeaveOtherReadersAlone) {
  const std::string text =
      with_copies("input A: f32[3, 9, 9]\nconst W: f32[4, 3]\n"
                  "output Y: f32[4, 5, 5], Z: f32[3, 9, 9]\ntemp X: f32[3, 9, 9]\n"
                  "X[c, h, w] = max(A[c, h, w], 0)\n"
                  "Y[k, h, w] = sum(c, X[c, 2 * h, 2 * w] * W[k, c])\n"
                  "Z[c, h, w] = X[c, h, w] + 1\n");
  EXPECT_NE(text.find("temp X: f32[3, 9, 9]"), std::string::npos) << text;
  EXPECT_NE(text.find("X_dense: f32[3, 25]"), std::string::npos) << text;
}

TEST(DenseStrides, AreForOperandsThatAreUsedAgainAndLieApart) {
  const auto product = [](const std::string& index, const std::string& filters) {
    return "input X: f32[3, 13, 19]\nconst W: f32[" + filters + ", 3]\noutput Y: f32[" + filters +
           ", 3, 3]\nY[k, h, w] = sum(c, X[" + index + "] * W[k, c])\n";
  };
  EXPECT_TRUE(has_copies(product("c, h, 2 * w", "4")));
  EXPECT_FALSE(has_copies(product("c, h, w", "4"))) << "no stride";
  EXPECT_FALSE(has_copies(product("c, 2 * h, w", "4"))) << "rows are runs";
  EXPECT_FALSE(has_copies(product("c, h, 2 * w", "3"))) << "three uses";
  EXPECT_FALSE(has_copies(product("c, h, 2 * w + c", "4"))) << "a window";
  EXPECT_FALSE(has_copies("input X: f32[8, 19]\nconst W: f32[8]\noutput Y: f32[8, 5]\n"
                          "Y[k, w] = X[k, 2 * w] * W[k]\n"))
      << "no sum";
}

} // namespace
} // namespace kawara::program
