#include "unit/schedule/auto/facts.h"

#include "schedule/tree/extent.h"

#include <fmt/format.h>

namespace kawara::schedule {
namespace {

/// A convolution, what follows it element by element, and the greatest of windows of that.
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

Schedule pooled_schedule(int channels, int size) { return by_default(pooled(channels, size)); }

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

TEST(AutoWindows, leave_what_fits_the_l2) {
  const Schedule apart = pooled_schedule(16, 33);
  EXPECT_NE(outermost(apart, 1), outermost(apart, 4)) << listing(apart);
}

/// A convolution with stride 2 whose filters are constant: a vector holds an element of several of
/// them.
std::string strided(const char* pool) {
  return fmt::format(R"(input X: f32[3, 231, 231]
const W: f32[64, 3, 7, 7], shift: f32[64]
output Y: f32[64, 56, 56]
temp conv: f32[64, 113, 113], act: f32[64, 113, 113]
conv[k, y, x] = sum(c, r, s, X[c, 2*y + r, 2*x + s] * W[k, c, r, s])
act[k, y, x] = relu(conv[k, y, x] + shift[k])
Y[k, y, x] = max(r in range(3), s in range(3), {})
)",
                     pool);
}

Schedule strided_schedule(const char* pool, const char* cpu, int64_t cores = 1) {
  return by_default(strided(pool), cpu, cores);
}

const program::Tensor& tensor_of(const Schedule& schedule, const std::string& name) {
  for (const program::Tensor& tensor : schedule.scop.tensors)
    if (tensor.name == name)
      return tensor;
  throw std::runtime_error("no such tensor");
}

TEST(AutoWindows, keep_lanes_of_a_product_side_by_side_until_windows_are_done) {
  for (const char* cpu : {"neoverse-n1", "sapphirerapids"}) {
    const Schedule chunks = strided_schedule("act[k, 2*y + r, 2*x + s]", cpu);
    EXPECT_EQ(scalar::constant_of(tensor_of(chunks, "act").shape.back()), 64) << cpu;
    const std::vector<poly::LoopId> start = poly::path_of(chunks.order, poly::StmtId{3});
    const std::vector<poly::LoopId> update = poly::path_of(chunks.order, poly::StmtId{4});
    EXPECT_EQ(around(chunks, 4).lanes_along(), "k") << listing(chunks);
    EXPECT_GT(around(chunks, 4).lanes(), 1) << listing(chunks);
    // Results start in the loop that finishes them: inside are their elements, and the window's.
    EXPECT_EQ(start[start.size() - 3], update[update.size() - 5]) << listing(chunks);
  }
}

TEST(AutoWindows, give_parts_of_channels_to_threads_where_that_is_more_even) {
  const char* const pool = "act[k, 2*y + r, 2*x + s]";
  // 56 rows in chunks of 4 would be 14 times 9 rows of the convolution; in chunks of 7, halves
  // of 15.
  const Schedule many = strided_schedule(pool, "sapphirerapids", 16);
  EXPECT_EQ(LoopsAround::origin(around(many, 4).loops[0]), "k") << listing(many);
  EXPECT_EQ(LoopsAround::origin(around(many, 4).loops[1]), "y") << listing(many);
  EXPECT_TRUE(around(many, 4).loops[0].marks.is_parallel) << listing(many);
  EXPECT_TRUE(around(many, 4).loops[1].is_coalesced_into_parent) << listing(many);
  const std::vector<poly::LoopId> path = poly::path_of(many.order, poly::StmtId{4});
  EXPECT_EQ(longest_run(many.scop, many.order, path[0]), 2) << listing(many);
  EXPECT_EQ(longest_run(many.scop, many.order, path[1]), 8) << listing(many);
  const Schedule one = strided_schedule(pool, "sapphirerapids", 1);
  EXPECT_EQ(LoopsAround::origin(around(one, 4).loops[0]), "y") << listing(one);
  EXPECT_TRUE(around(one, 4).loops[0].marks.is_parallel) << listing(one);
}

TEST(AutoWindows, leave_lanes_that_windows_reach_across) {
  const Schedule chunks = strided_schedule("act[(k + r) // 2, 2*y + r, 2*x + s]", "neoverse-n1");
  EXPECT_EQ(scalar::constant_of(tensor_of(chunks, "act").shape.back()), 113) << listing(chunks);
}

TEST(AutoWindows, transpose_results_of_neighbours_that_lie_apart) {
  const Schedule transposed = by_default("input X: f32[33, 33, 32]\noutput Y: f32[32, 16, 16]\n"
                                         "Y[k, y, x] = max(r in range(3), s in range(3), "
                                         "X[2*y + r, 2*x + s, k])\n");
  EXPECT_EQ(around(transposed, 1).lanes_along(), "k") << listing(transposed);
  EXPECT_EQ(around(transposed, 1).unrolled().count("x"), 1U) << listing(transposed);
}

} // namespace
} // namespace kawara::schedule
