#include "unit/schedule/programs.h"

// Default schedules are chosen in milliseconds. Clocks cannot be trusted in tests, so what is
// limited is the number of isl's operations that any one question of `auto` takes (under a tight
// quota the same schedule comes out), the number of questions, and how many of them are proofs
// about a dependence. The limits are about twice what was needed when they were written down.

namespace kawara::schedule {
namespace {

struct Limits {
  unsigned long operations = 0; ///< of one question
  unsigned long questions = 0;
  size_t proofs = 0;
};

struct Chosen {
  std::string loops;
  unsigned long questions = 0;
  size_t proofs = 0;
};

Chosen automatic(const std::string& program, unsigned long quota) {
  Environment environment = test_environment();
  environment.quota = quota;
  const Schedule start = initial(program);
  const auto before = start.scop.context_owner->questions();
  const auto made = apply(start, directives("auto"), environment);
  if (!made)
    return {"refused"};
  Chosen chosen{poly::print(made->order, poly::names_of_statements(made->scop)),
                start.scop.context_owner->questions() - before, 0};
  for (const poly::Dependence& d : made->scop.dependences)
    chosen.proofs += d.shown->kept.size();
  return chosen;
}

/// The schedule is the one that all the time in the world gives.
void expect_within(const std::string& program, const Limits& limits) {
  const Chosen chosen = automatic(program, limits.operations);
  EXPECT_EQ(chosen.loops, automatic(program, poly::kDefaultQuota).loops);
  EXPECT_LE(chosen.questions, limits.questions);
  EXPECT_LE(chosen.proofs, limits.proofs);
}

TEST(AutoOperations, of_a_product) {
  expect_within(R"(input A: f32[1024, 1024], B: f32[1024, 1024]
output C: f32[1024, 1024]
C[i, j] = sum(k, A[i, k] * B[k, j])
)",
                {10'000, 30, 4});
}

TEST(AutoOperations, of_a_product_of_bytes) {
  expect_within(R"(input A: i8[1024, 1024]
const B: i8[1024, 1024]
output C: i32[1024, 1024]
C[i, j] = sum(k, A[i, k] * B[k, j])
)",
                {12'000, 20, 6});
}

TEST(AutoOperations, of_a_product_of_halves) {
  expect_within(R"(numerics fast
input A: f16[1024, 1024]
const B: f16[1024, 1024]
output C: f32[1024, 1024]
C[i, j] = sum(k, A[i, k] * B[k, j])
)",
                {12'000, 32, 16});
}

TEST(AutoOperations, of_a_convolution_and_its_pool) {
  expect_within(R"(input image: f32[3, 231, 231]
const weight: f32[64, 3, 7, 7]
temp sums: f32[64, 113, 113]
const norm: f32[2, 64]
temp active: f32[64, 113, 113]
output out: f32[64, 56, 56]
sums[k, h, w] = sum(c, r, s, image[c, 2 * h + r, 2 * w + s] * weight[k, c, r, s])
active[k, h, w] = relu(sums[k, h, w] * norm[0, k] + norm[1, k])
out[k, h, w] = max(r in range(3), s in range(3), active[k, 2 * h + r, 2 * w + s])
)",
                {10'000, 36, 22});
}

TEST(AutoOperations, of_a_softmax) {
  expect_within(R"(input X: f32[4096, 4096]
output Y: f32[4096, 4096]
temp e: f32[4096, 4096]
e[i, j] = exp(X[i, j] - max(k, X[i, k]))
Y[i, j] = e[i, j] / sum(k, e[i, k])
)",
                {1500, 60, 28});
}

TEST(AutoOperations, of_attention) {
  expect_within(R"(input Q: f32[12, 512, 64], K: f32[12, 512, 64], V: f32[12, 512, 64]
output out: f32[12, 512, 64]
temp scores: f32[12, 512, 512], weights: f32[12, 512, 512]
scores[h, i, j] = sum(d, Q[h, i, d] * K[h, j, d]) * 0.125
weights[h, i, j] = exp(scores[h, i, j] - max(k, scores[h, i, k]))
out[h, i, d] = sum(j, weights[h, i, j] * V[h, j, d]) / sum(j, weights[h, i, j])
)",
                {17'000, 110, 140});
}

} // namespace
} // namespace kawara::schedule
