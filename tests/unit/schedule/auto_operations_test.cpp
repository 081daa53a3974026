#include "programs.h"

// Default schedules are chosen in milliseconds. Clocks cannot be trusted in tests, so what is limited is the number of isl's
// operations that any one question of `auto` takes: under a tight quota the same schedule comes out. The limits are at
// least twice what was needed when they were written down.

namespace kawara::schedule {
namespace {

std::string automatic(const std::string& program, unsigned long quota) {
  Environment environment = test_environment();
  environment.quota = quota;
  const auto made = apply(initial(program), directives("auto"), environment);
  return made ? poly::print(made->order, poly::names_of_statements(made->scop)) : "refused";
}

/// Whether the schedule is the one that all the time in the world gives.
bool is_enough_for(const std::string& program, unsigned long quota) {
  return automatic(program, quota) == automatic(program, poly::kDefaultQuota);
}

TEST(AutoOperations, of_a_product) {
  EXPECT_TRUE(is_enough_for(R"(input A: f32[1024, 1024], B: f32[1024, 1024]
output C: f32[1024, 1024]
C[i, j] = sum(k, A[i, k] * B[k, j])
)",
                            1UL << 14));
}

TEST(AutoOperations, of_a_product_of_bytes) {
  EXPECT_TRUE(is_enough_for(R"(input A: i8[1024, 1024]
const B: i8[1024, 1024]
output C: i32[1024, 1024]
C[i, j] = sum(k, A[i, k] * B[k, j])
)",
                            1UL << 15));
}

TEST(AutoOperations, of_a_convolution_and_its_pool) {
  EXPECT_TRUE(is_enough_for(R"(input image: f32[3, 231, 231]
const weight: f32[64, 3, 7, 7]
temp sums: f32[64, 113, 113]
const norm: f32[2, 64]
temp active: f32[64, 113, 113]
output out: f32[64, 56, 56]
sums[k, h, w] = sum(c, r, s, image[c, 2 * h + r, 2 * w + s] * weight[k, c, r, s])
active[k, h, w] = relu(sums[k, h, w] * norm[0, k] + norm[1, k])
out[k, h, w] = max(r in range(3), s in range(3), active[k, 2 * h + r, 2 * w + s])
)",
                            1UL << 15));
}

TEST(AutoOperations, of_a_softmax) {
  EXPECT_TRUE(is_enough_for(R"(input X: f32[4096, 4096]
output Y: f32[4096, 4096]
temp e: f32[4096, 4096]
e[i, j] = exp(X[i, j] - max(k, X[i, k]))
Y[i, j] = e[i, j] / sum(k, e[i, k])
)",
                            1UL << 13));
}

} // namespace
} // namespace kawara::schedule
