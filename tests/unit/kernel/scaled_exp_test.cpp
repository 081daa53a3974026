#include "kernel/scaled_exp.h"

#include "kernel/bounded_exp.h"
#include "kernel/expand_math.h"
#include "line.h"

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
  return print(scaled(text)).find("* 2.226719e+19") != std::string::npos;
}

TEST(ScaledExp, ExponentialsDividedByTheirSum) {
  EXPECT_TRUE(is_scaled("e[k]", "e[k]"));
  line::expect_same(kSoftmax, "vectorize(S2.j, 8)", {{1}, {37}});
}

TEST(ScaledExp, NoProductIsLeftInTheFormula) {
  target::Cpu cpu;
  cpu.arch = target::Arch::Aarch64;
  const std::string text = print(expand_math(scaled(kSoftmax), cpu));
  EXPECT_EQ(text.find("2.226719e+19"), std::string::npos) << text;
  EXPECT_EQ(text.find("5.421011e-20"), std::string::npos) << text;
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
      << "a cell that is no exponential";
}

TEST(ScaledExp, NotExactly) { EXPECT_FALSE(is_scaled("param N", "numerics exact\nparam N")); }

} // namespace
} // namespace kawara::kernel
