#include "program/rewrites/joined_dimensions.h"

#include "unit/program/same_elements.h"

namespace kawara::program {
namespace {

constexpr int64_t kUnit = 4;

Program parsed_joined(const std::string& text) {
  auto program = parse(make_source("joined.kw", text));
  EXPECT_TRUE(program) << render(program.error());
  return *std::move(program);
}

/// The joined program computes the same elements in the same order; its listing.
std::string joined(const std::string& text) {
  const Program plain = parsed_joined(text);
  const auto other = with_joined_dimensions(plain, kUnit);
  EXPECT_TRUE(other) << text;
  if (!other)
    return "";
  expect_same_elements(plain, *other);
  return print(*other);
}

TEST(JoinedDimensions, MakeOneLongRow) {
  const std::string text = joined("input X: f32[3, 5, 7]\nconst W: f32[4, 3]\n"
                                  "output Y: f32[4, 5, 7]\n"
                                  "Y[k, h, w] = sum(c, X[c, h, w] * W[k, c])\n");
  EXPECT_NE(text.find("X: f32[3, 35]"), std::string::npos) << text;
  EXPECT_NE(text.find("for h_w in range(35)"), std::string::npos) << text;
}

TEST(JoinedDimensions, GoThroughWhatComesAfter) {
  const std::string text = joined("input X: f32[3, 5, 7], R: f32[4, 5, 7], bias: f32[4]\n"
                                  "const W: f32[4, 3]\noutput Y: f32[4, 5, 7]\n"
                                  "temp T: f32[4, 5, 7]\n"
                                  "T[k, h, w] = sum(c, X[c, h, w] * W[k, c])\n"
                                  "Y[k, h, w] = max(T[k, h, w] + bias[k] + R[k, h, w], 0)\n");
  EXPECT_NE(text.find("T: f32[4, 35]"), std::string::npos) << text;
  EXPECT_EQ(text.find("5, 7"), std::string::npos) << text;
}

TEST(JoinedDimensions, NeedRowsThatAreWalkedWhole) {
  for (const char* text :
       {// whole vectors already
        "input X: f32[3, 5, 8]\nconst W: f32[4, 3]\noutput Y: f32[4, 5, 8]\n"
        "Y[k, h, w] = sum(c, X[c, h, w] * W[k, c])\n",
        // a part of each row
        "input X: f32[3, 5, 9]\nconst W: f32[4, 3]\noutput Y: f32[4, 5, 7]\n"
        "Y[k, h, w] = sum(c, X[c, h, w] * W[k, c])\n",
        // a row by itself in another statement
        "input X: f32[3, 5, 7], R: f32[7]\nconst W: f32[4, 3]\noutput Y: f32[4, 5, 7]\n"
        "temp T: f32[4, 5, 7]\nT[k, h, w] = sum(c, X[c, h, w] * W[k, c])\n"
        "Y[k, h, w] = T[k, h, w] + R[w]\n",
        // windows
        "input X: f32[3, 7, 9]\nconst W: f32[4, 3, 3, 3]\noutput Y: f32[4, 5, 7]\n"
        "Y[k, h, w] = sum((c, r, s), X[c, h + r, w + s] * W[k, c, r, s])\n",
        // no product
        "input X: f32[3, 5, 7]\noutput Y: f32[3, 5, 7]\nY[k, h, w] = exp(X[k, h, w])\n"})
    EXPECT_FALSE(with_joined_dimensions(parsed_joined(text), kUnit)) << text;
}

/// Nests over rows of several dimensions can then share one loop over all rows.
TEST(JoinedDimensions, CountRows) {
  const std::string text = joined("input X: f32[3, 4, 8]\noutput Y: f32[3, 4, 8]\n"
                                  "temp m: f32[3, 4]\n"
                                  "m[b, i] = max(k, X[b, i, k])\n"
                                  "Y[b, i, j] = X[b, i, j] - m[b, i]\n");
  EXPECT_NE(text.find("X: f32[12, 8]"), std::string::npos) << text;
  EXPECT_NE(text.find("for b_i in range(12)"), std::string::npos) << text;
  for (const char* alone :
       {"input X: f32[3, 4, 8], g: f32[4]\noutput Y: f32[3, 4, 8]\n"
        "Y[b, i, j] = X[b, i, j] * g[i]\n",
        "input X: f32[3, 4, 8]\noutput Y: f32[3, 4]\nY[b, i] = max(k, X[b, i, k])\n",
        "input X: f32[3, 4, 8]\noutput Y: f32[3, 4, 8]\ntemp T: f32[3, 4, 8]\n"
        "T[b, i, j] = X[b, i, j] * 2\nY[b, i, j] = X[b, i, j] + T[b, i, j]\n"})
    EXPECT_FALSE(with_joined_dimensions(parsed_joined(alone), kUnit)) << alone;
}

TEST(JoinedDimensions, CountRowsOfProducts) {
  const std::string text = joined("input A: f32[3, 4, 8], B: f32[8, 5]\noutput C: f32[3, 4, 5]\n"
                                  "C[b, i, j] = sum(k, A[b, i, k] * B[k, j])\n");
  EXPECT_NE(text.find("A: f32[12, 8]"), std::string::npos) << text;
}

TEST(JoinedDimensions, AreAddedUpInOneLoop) {
  const std::string text = joined("input X: f32[2, 3, 4]\noutput Y: f32[2]\n"
                                  "Y[i] = sum(j, k, X[i, j, k])\n");
  EXPECT_NE(text.find("for j_k in range(12)"), std::string::npos) << text;
  EXPECT_NE(text.find("X: f32[2, 12]"), std::string::npos) << text;
  EXPECT_FALSE(with_joined_dimensions(parsed_joined("input X: f32[2, 3, 4]\noutput Y: f32[3]\n"
                                                    "Y[j] = sum(i, k, X[i, j, k])\n"),
                                      kUnit))
      << "no neighbours";
}

std::string flat(const std::string& text) {
  const Program plain = parsed_joined(text);
  const auto other = with_flat_maps(plain, 16);
  EXPECT_TRUE(other) << text;
  if (!other)
    return "";
  expect_same_elements(plain, *other);
  return print(*other);
}

TEST(FlatMaps, FindWhatARowSharesByDivision) {
  const std::string text = flat("input X: f32[6, 10], b: f32[10], c: f32[6]\noutput Y: f32[6, 10]\n"
                                "Y[i, j] = X[i, j] * c[i] + b[j]\n");
  EXPECT_NE(text.find("Y: f32[60]"), std::string::npos) << text;
  EXPECT_NE(text.find("X[i_j] * c[i_j // 10] + b[i_j % 10]"), std::string::npos) << text;
}

TEST(FlatMaps, MayUseIteratorsAsNumbers) {
  const std::string text = flat("input X: f32[4, 3]\noutput Y: f32[4, 3]\n"
                                "Y[i, j] = X[i, j] if i > j else 0\n");
  EXPECT_NE(text.find("i_j // 3"), std::string::npos) << text;
}

TEST(FlatMaps, GoOnOverSeveralDimensions) {
  Program program = parsed_joined("input X: f32[2, 6, 5, 7], c: f32[6]\noutput Y: f32[2, 6, 5, 7]\n"
                                  "Y[n, k, h, w] = max(X[n, k, h, w] + c[k], 0)\n");
  const Program plain = program;
  int times = 0;
  for (; times < 9; ++times) {
    auto other = with_flat_maps(program, 16);
    if (!other)
      break;
    program = *std::move(other);
  }
  EXPECT_GE(times, 2);
  EXPECT_LE(times, 3);
  expect_same_elements(plain, program);
}

TEST(FlatMaps, LeaveOtherProgramsAlone) {
  for (const char* text :
       {// rows of whole groups that threads share evenly
        "input X: f32[6, 64], b: f32[64]\noutput Y: f32[6, 64]\nY[i, j] = X[i, j] + b[j]\n",
        // rows of which something is made first
        "input X: f32[6, 10]\ntemp m: f32[6]\noutput Y: f32[6, 10]\n"
        "m[i] = sum(j, X[i, j])\nY[i, j] = X[i, j] - m[i]\n",
        // the transpose is read elsewhere
        "input X: f32[10, 6]\noutput Y: f32[6, 10]\nY[i, j] = X[j, i]\n",
        // a part of a row
        "input X: f32[6, 11]\noutput Y: f32[6, 10]\nY[i, j] = X[i, j]\n"}) {
    const auto other = with_flat_maps(parsed_joined(text), 16);
    EXPECT_FALSE(other) << text << (other ? print(*other) : "");
  }
}

} // namespace
} // namespace kawara::program
