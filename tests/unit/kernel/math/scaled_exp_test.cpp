#include "kernel/math/scaled_exp.h"

#include "kernel/math/bounded_exp.h"
#include "kernel/math/expand_math.h"
#include "unit/kernel/line.h"

namespace kawara::kernel {
namespace {

constexpr const char* kSoftmax = R"(param N
input X: f32[N]
output Y: f32[N]
temp e: f32[N], m: f32[1], s: f32[1]
m[0] = -inf
for k in range(N):
    m[0] max= X[k]
for j in range(N):
    e[j] = exp(X[j] - m[0])
s[0] = 0
for k in range(N):
    s[0] += e[k]
for j in range(N):
    Y[j] = e[j] / s[0]
)";

Kernel scaled(const std::string& text) {
  return scaled_exp(bounded_exp(line::compile(text).kernel));
}

bool is_scaled(const std::string& from, const std::string& to) {
  std::string text = kSoftmax;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  return print(scaled(text)).find("e+") != std::string::npos;
}

/// Whether exponentials may be larger by another factor in each row; `text` has some that may be
/// larger.
bool is_by_rows(const std::string& text) {
  const std::string printed = print(scaled(text));
  const bool is_own = printed.find("* 3.4792486e+17") != std::string::npos;
  EXPECT_NE(is_own, printed.find("* 2.226719e+19") != std::string::npos) << printed;
  return is_own;
}

/// A softmax of each row.
constexpr const char* kScaledRows = R"(param N
input X: f32[N, N]
output Y: f32[N, N]
temp e: f32[N, N], m: f32[N], s: f32[N]
for i in range(N):
    m[i] = -inf
    for k in range(N):
        m[i] max= X[i, k]
    for j in range(N):
        e[i, j] = exp(X[i, j] - m[i])
    s[i] = 0
    for k in range(N):
        s[i] += e[i, k]
    for j in range(N):
        Y[i, j] = e[i, j] / s[i]
)";

TEST(ScaledExp, ExponentialsDividedByTheirSum) {
  EXPECT_TRUE(is_scaled("e[k]", "e[k]"));
  line::expect_same(kSoftmax, "vectorize(S2.j, 8)", {{1}, {37}});
}

TEST(ScaledExp, NoProductIsLeftInTheFormula) {
  target::Cpu cpu;
  cpu.arch = target::Arch::Aarch64;
  const std::string text = print(expand_math(scaled(kSoftmax), cpu));
  EXPECT_NE(print(scaled(kSoftmax)).find("e+1"), std::string::npos) << print(scaled(kSoftmax));
  EXPECT_EQ(text.find("e+1"), std::string::npos) << text;
  EXPECT_EQ(text.find("e-20"), std::string::npos) << text;
}

TEST(ScaledExp, HaveAFactorOfTheirOwnInEachRow) {
  EXPECT_TRUE(is_by_rows(kSoftmax)) << "one row";
  EXPECT_FALSE(is_by_rows(kScaledRows)) << "elements of other rows are there, too";
  const std::string text = print(scaled_exp(bounded_exp(
      line::compile(kScaledRows, "store_at(e, i); store_at(s, i); parallel(i)").kernel)));
  EXPECT_NE(text.find("* 3.4792486e+17"), std::string::npos) << text;
}

TEST(ScaledExp, HaveOneFactorWhereSubtrahendsMeet) {
  std::string text = kSoftmax;
  text.replace(text.find("s[0] = 0"), 8, "for i in range(N):\n    m[0] max= X[i]\ns[0] = 0");
  EXPECT_FALSE(is_by_rows(text)) << "one that changes";
  text = kScaledRows;
  for (const char* sum : {"s[i] = 0", "s[i] += e[i, k]"})
    text.replace(text.find(sum) + 2, 1, "0");
  text.replace(text.find("/ s[i]") + 4, 1, "0");
  EXPECT_FALSE(is_by_rows(text)) << "a sum over rows";
}

TEST(ScaledExp, NotWhereSomebodySeesThem) {
  EXPECT_FALSE(
      is_scaled("output Y: f32[N]\ntemp e: f32[N], ", "output Y: f32[N], e: f32[N]\ntemp "));
  EXPECT_FALSE(is_scaled("Y[j] = e[j] / s[0]", "Y[j] = e[j]"));
  EXPECT_FALSE(is_scaled("Y[j] = e[j] / s[0]", "Y[j] = s[0] + e[j] / s[0]"));
}

TEST(ScaledExp, NotWhereOtherValuesAreAdded) {
  EXPECT_FALSE(is_scaled("s[0] += e[k]", "s[0] += X[k]")) << "the sum of something else";
  EXPECT_FALSE(is_scaled("s[0] = 0", "s[0] = 1")) << "a sum that starts elsewhere";
  EXPECT_FALSE(is_scaled("s[0] += e[k]", "s[0] += e[k] * X[k]")) << "a product may overflow";
  EXPECT_FALSE(is_scaled("s[0] += e[k]", "s[0] *= e[k]")) << "a product of many";
  EXPECT_FALSE(is_scaled("s[0] = 0", "for i in range(N):\n    e[i] = 1\ns[0] = 0"))
      << "an element that is no exponential";
}

TEST(ScaledExp, NotExactly) { EXPECT_FALSE(is_scaled("param N", "numerics exact\nparam N")); }

} // namespace
} // namespace kawara::kernel
