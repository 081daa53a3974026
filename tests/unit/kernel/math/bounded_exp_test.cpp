#include "kernel/math/bounded_exp.h"

#include "unit/kernel/line.h"

namespace kawara::kernel {
namespace {

constexpr const char* kSoftmaxRow = R"(param N
input X: f32[N]
output e: f32[N]
temp m: f32[1]
m[0] = -inf
for k in range(N):
    m[0] max= X[k]
for j in range(N):
    e[j] = exp(X[j] - m[0])
)";

bool is_bounded(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  return print(bounded_exp(line::compile(text).kernel)).find("nan_min(0.0") != std::string::npos;
}

bool is_bounded(const std::string& from, const std::string& to) {
  return is_bounded(kSoftmaxRow, from, to);
}

TEST(BoundedExp, DifferenceFromTheGreatest) {
  EXPECT_TRUE(is_bounded("X[k]", "X[k]"));
  line::expect_same(kSoftmaxRow, "vectorize(S1.k, 8); vectorize(S2.j, 8)", {{1}, {37}});
}

TEST(BoundedExp, BesideWhatElseTheLoopDoes) {
  std::string text = kSoftmaxRow;
  text.replace(text.find("temp"), 4, "output s: f32[1]\ntemp");
  text.replace(text.find("for j"), 5, "s[0] = 0\nfor j");
  text += "    s[0] += e[j]\n";
  EXPECT_TRUE(is_bounded(text, "X[k]", "X[k]"));
  EXPECT_FALSE(is_bounded(text, "s[0] += e[j]", "m[0] += e[j]")) << "the greatest changes";
  line::expect_same(text, "vectorize(S3.j, 32)", {{1}, {37}, {100}});
}

TEST(BoundedExp, TextHasOneExponential) {
  const Kernel bounded = bounded_exp(line::compile(kSoftmaxRow).kernel);
  EXPECT_NE(print(bounded), print(plain_exp(bounded)));
  EXPECT_EQ(print(plain_exp(bounded)), print(line::compile(kSoftmaxRow).kernel));
}

TEST(BoundedExp, NotWhereTheGreatestIsOfLess) {
  EXPECT_FALSE(is_bounded("for k in range(N)", "for k in range(N - 1)"))
      << "one element is left out";
  EXPECT_FALSE(is_bounded("m[0] max= X[k]", "m[0] max= X[k] * 2")) << "of something else";
  EXPECT_FALSE(is_bounded("m[0] max= X[k]", "m[0] min= X[k]")) << "the smallest";
  EXPECT_FALSE(is_bounded("exp(X[j] - m[0])", "exp(m[0] - X[j])")) << "the other way round";
}

TEST(BoundedExp, NotWhereSomethingChangesInBetween) {
  EXPECT_FALSE(is_bounded("for j in", "m[0] = 0\nfor j in")) << "the greatest";
  EXPECT_FALSE(is_bounded("for j in", "for i in range(N):\n    m[0] -= X[i]\nfor j in"))
      << "the greatest";
  std::string changing = kSoftmaxRow;
  changing.replace(changing.find("input"), 5, "inout");
  EXPECT_TRUE(is_bounded(changing, "for j in", "for j in"));
  EXPECT_FALSE(is_bounded(changing, "for j in", "for i in range(N):\n    X[i] = 1\nfor j in"))
      << "what it is compared with";
}

TEST(BoundedExp, NotInNarrowTypesOrExactly) {
  EXPECT_FALSE(is_bounded("temp m: f32", "temp m: bf16")) << "it may be rounded down";
  EXPECT_FALSE(is_bounded("param N", "numerics exact\nparam N"));
}

} // namespace
} // namespace kawara::kernel
