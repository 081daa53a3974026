#include "programs.h"

#include <fmt/format.h>

namespace kawara::schedule {
namespace {

/// A convolution, what follows it cell by cell, and the greatest of windows of that.
std::string pooled(int channels, int size) {
  return fmt::format(R"(input X: f32[3, {1}, {1}], W: f32[{0}, 3, 3, 3], scale: f32[{0}]
output Y: f32[{0}, {3}, {3}]
temp conv: f32[{0}, {2}, {2}], act: f32[{0}, {2}, {2}]
conv[k, y, x] = sum(c, r, s, X[c, y + r, x + s] * W[k, c, r, s])
act[k, y, x] = max(conv[k, y, x] * scale[k], 0.0)
for k in range({0}):
    for y in range({3}):
        for x in range({3}):
            Y[k, y, x] = -inf
            for r in range(3):
                for s in range(3):
                    Y[k, y, x] max= act[k, 2*y + r, 2*x + s]
)",
                     channels, size + 2, size, (size - 1) / 2);
}

Schedule pooled_schedule(int channels, int size) {
  const Schedule start = initial(pooled(channels, size));
  auto result = apply(start, Auto{}, test_environment());
  EXPECT_TRUE(static_cast<bool>(result));
  return result ? *std::move(result) : start;
}

poly::LoopId outermost(const Schedule& schedule, uint32_t statement) {
  return poly::path_of(schedule.order, poly::StmtId{statement}).front();
}

TEST(AutoWindows, make_rows_of_a_product_right_before_their_windows) {
  const Schedule chunks = pooled_schedule(64, 113);
  for (const uint32_t statement : {0U, 1U, 2U, 3U})
    EXPECT_EQ(outermost(chunks, statement), outermost(chunks, 4)) << listing(chunks);
  for (const program::Tensor& tensor : chunks.scop.tensors)
    if (tensor.name == "conv" || tensor.name == "act") {
      EXPECT_GT(tensor.private_dims, 0U) << tensor.name << " is not stored whole";
    }
  EXPECT_TRUE(chunks.order[outermost(chunks, 4)].marks.is_parallel);
}

TEST(AutoWindows, leave_what_fits_the_second_cache) {
  const Schedule apart = pooled_schedule(16, 33);
  EXPECT_NE(outermost(apart, 1), outermost(apart, 4)) << listing(apart);
}

} // namespace
} // namespace kawara::schedule
