#include "unit/schedule/programs.h"

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

TEST(AutoWindows, leave_what_fits_the_l2) {
  const Schedule apart = pooled_schedule(16, 33);
  EXPECT_NE(outermost(apart, 1), outermost(apart, 4)) << listing(apart);
}

/// A convolution with stride 2 whose filters are constant: a vector holds an element of several of them.
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
  const Schedule start = initial(strided(pool));
  Environment environment;
  environment.cpu = *target::named_cpu(cpu);
  environment.cpu.cores = cores;
  auto result = apply(start, Auto{}, environment);
  EXPECT_TRUE(static_cast<bool>(result));
  return result ? *std::move(result) : start;
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
    EXPECT_EQ(chunks.order[update.back()].name.substr(0, 2), "k.") << listing(chunks);
    EXPECT_GT(chunks.order[update.back()].marks.vector_width, 1) << listing(chunks);
    // Results start in the loop that finishes them: inside are their elements, and the window's.
    EXPECT_EQ(start[start.size() - 3], update[update.size() - 5]) << listing(chunks);
  }
}

TEST(AutoWindows, give_parts_of_channels_to_threads_where_that_is_more_even) {
  const char* const pool = "act[k, 2*y + r, 2*x + s]";
  // 56 rows in chunks of 4 would be 14 times 9 rows of the convolution; in chunks of 7, halves of 15.
  const Schedule many = strided_schedule(pool, "sapphirerapids", 16);
  EXPECT_NE(listing(many).find("for k.0_y.0:  # parallel"), std::string::npos) << listing(many);
  const std::vector<poly::LoopId> path = poly::path_of(many.order, poly::StmtId{4});
  EXPECT_EQ(longest_run(many.scop, many.order, path[0]), 2) << listing(many);
  EXPECT_EQ(longest_run(many.scop, many.order, path[1]), 8) << listing(many);
  const Schedule one = strided_schedule(pool, "sapphirerapids", 1);
  EXPECT_NE(listing(one).find("for y.0:  # parallel"), std::string::npos) << listing(one);
}

TEST(AutoWindows, leave_lanes_that_windows_reach_across) {
  const Schedule chunks = strided_schedule("act[(k + r) // 2, 2*y + r, 2*x + s]", "neoverse-n1");
  EXPECT_EQ(scalar::constant_of(tensor_of(chunks, "act").shape.back()), 113) << listing(chunks);
}

TEST(AutoWindows, transpose_results_of_neighbours_that_lie_apart) {
  const Schedule start = initial("input X: f32[33, 33, 32]\noutput Y: f32[32, 16, 16]\n"
                                 "Y[k, y, x] = max(r in range(3), s in range(3), "
                                 "X[2*y + r, 2*x + s, k])\n");
  const auto transposed = apply(start, Auto{}, test_environment());
  ASSERT_TRUE(static_cast<bool>(transposed));
  const std::vector<poly::LoopId> path = poly::path_of(transposed->order, poly::StmtId{1});
  EXPECT_EQ(transposed->order[path.back()].name, "k.1") << listing(*transposed);
  EXPECT_EQ(transposed->order[path[path.size() - 2]].name, "x.1") << listing(*transposed);
}

} // namespace
} // namespace kawara::schedule
