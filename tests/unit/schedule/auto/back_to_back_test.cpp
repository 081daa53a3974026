#include "unit/schedule/auto/facts.h"

#include "schedule/tree/extent.h"
#include "target/cpu.h"

#include <fmt/format.h>

namespace kawara::schedule {
namespace {

/// A product, what follows it element by element, and a product of that; `weights`: how the weights
/// are declared.
std::string products_in_a_row(int64_t rows, int64_t between, const char* weights = "const") {
  return fmt::format(R"(input A: f32[{0}, 64]
{2} B: f32[64, {1}], D: f32[{1}, 64]
output C: f32[{0}, 64]
temp S: f32[{0}, {1}], T: f32[{0}, {1}]
S[i, j] = sum(k, A[i, k] * B[k, j])
T[i, j] = relu(S[i, j])
C[i, j] = sum(k, T[i, k] * D[k, j])
)",
                     rows, between, weights);
}

Schedule scheduled_for(const std::string& text, int64_t cores = 1) {
  return by_default(text, "neoverse-n1", cores);
}

poly::LoopId outermost_of(const Schedule& schedule, uint32_t statement) {
  return poly::path_of(schedule.order, poly::StmtId{statement}).front();
}

bool run_together(const Schedule& schedule) { return shared_loops(schedule, 1, 4) > 0; }

int64_t chunks_of(const Schedule& schedule) {
  return *longest_run(schedule.scop, schedule.order, outermost_of(schedule, 4));
}

TEST(AutoResident, rows_between_two_products_stay_in_the_l2) {
  const Schedule chunks = scheduled_for(products_in_a_row(12544, 256));
  EXPECT_TRUE(run_together(chunks)) << listing(chunks);
  int64_t bytes = 0;
  for (const program::Tensor& tensor : chunks.scop.tensors)
    if (tensor.name == "S" || tensor.name == "T") {
      EXPECT_GT(tensor.private_dims, 0U) << tensor.name << " is not stored whole";
      bytes = 12544 / chunks_of(chunks) * 256 * 4;
    }
  EXPECT_GT(bytes, 64 << 10);
  EXPECT_LE(bytes, 256 << 10) << "a quarter of 1 MiB";
  for (const uint32_t update : {1, 4})
    EXPECT_EQ(around(chunks, update).unrolled(), (std::set<std::string>{"i", "j"}))
        << "both in register tiles\n"
        << listing(chunks);
}

TEST(AutoResident, threads_have_as_many_chunks_each) {
  EXPECT_EQ(chunks_of(scheduled_for(products_in_a_row(12544, 256), 16)) % 16, 0);
}

TEST(AutoResident, rows_of_images_are_taken_together) {
  const Schedule chunks = scheduled_for(R"(input X: f32[16, 112, 112]
const W: f32[96, 16], V: f32[24, 96]
output Y: f32[24, 112, 112]
temp S: f32[96, 112, 112], T: f32[96, 112, 112]
S[k, h, w] = sum(c, X[c, h, w] * W[k, c])
T[k, h, w] = relu(S[k, h, w])
Y[m, h, w] = sum(k, T[k, h, w] * V[m, k])
)");
  EXPECT_TRUE(run_together(chunks)) << listing(chunks);
}

TEST(AutoResident, leave_what_gains_nothing) {
  EXPECT_FALSE(run_together(scheduled_for(products_in_a_row(512, 256)))) << "all rows fit";
  EXPECT_FALSE(run_together(scheduled_for(products_in_a_row(12544, 2048))))
      << "weights would come from memory for each chunk";
  EXPECT_FALSE(run_together(scheduled_for(products_in_a_row(12544, 256, "input"))))
      << "weights would be packed for each chunk";
  EXPECT_FALSE(run_together(scheduled_for(products_in_a_row(12547, 256)))) << "a prime of rows";
}

TEST(AutoResident, leave_a_temp_that_others_read) {
  std::string text = products_in_a_row(12544, 256) + "E[i] = T[i, 0]\n";
  text.replace(text.find("output C"), 8, "output E: f32[12544], C");
  EXPECT_FALSE(run_together(scheduled_for(text)));
}

} // namespace
} // namespace kawara::schedule
