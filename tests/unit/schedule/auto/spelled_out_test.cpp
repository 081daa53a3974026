#include "unit/schedule/auto/facts.h"

#include "schedule/auto/auto.h"

namespace kawara::schedule {
namespace {

std::string spelled(const std::string& text) {
  return print(spelled_out(initial(text), test_environment()));
}

/// Two of three statements depend on each other both ways: they stay together.
const char* const kParts = R"(input x: f32[256, 256]
output y: f32[256, 256], z: f32[256, 256], s: f32[256, 256]
for i in range(256):
    for j in range(1, 256):
        y[i, j] = x[i, j] + z[i, j - 1]
        z[i, j] = y[i, j] * 0.5
        s[j, i] = x[i, j]
)";

TEST(SpelledOut, gives_the_order_that_auto_gives) {
  for (const char* text : {kGemm, kAdd, kJacobi, kPrefixSum, kAhead, kTriangle, kParts}) {
    const Schedule start = initial(text);
    const auto by_name = apply(start, Auto{}, test_environment());
    const auto by_steps =
        apply(start, Group{spelled_out(start, test_environment())}, test_environment());
    ASSERT_TRUE(by_name && by_steps) << text;
    EXPECT_EQ(loops_of(*by_steps), loops_of(*by_name)) << text;
  }
}

TEST(SpelledOut, names_every_step) {
  EXPECT_EQ(spelled(kAdd), "reorder(i, j); vectorize(j, 8); parallel(i)");
  const std::string product = spelled(kGemm);
  EXPECT_EQ(product.rfind("distribute(i); split(S1.j, ", 0), 0u) << product;
  EXPECT_NE(product.find("pack(B, S1.k.0)"), std::string::npos) << product;
}

TEST(SpelledOut, says_an_order_that_isl_found) {
  const char* const gemver = R"(param N
input u1: f32[N], v1: f32[N], u2: f32[N], v2: f32[N], y: f32[N]
inout A: f32[N, N], x: f32[N]
for i in range(N):
    for j in range(N):
        A[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
for k in range(N):
    for l in range(N):
        x[k] += A[l, k] * y[l]
)";
  const std::string steps = spelled(gemver);
  EXPECT_EQ(steps.rfind("arrange(S0[0, j, 0, i, 0], S1[0, k, 0, l, 1])", 0), 0u) << steps;
}

} // namespace
} // namespace kawara::schedule
