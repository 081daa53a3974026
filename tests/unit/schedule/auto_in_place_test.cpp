#include "programs.h"

#include <fmt/format.h>

namespace kawara::schedule {
namespace {

/// `auto` for one core with vectors of 64 bytes.
Schedule for_wide_vectors(const std::string& text) {
  Environment environment = test_environment();
  environment.cpu = *target::named_cpu("sapphirerapids");
  environment.cpu.cores = 1;
  const Schedule start = initial(text);
  auto result = apply(start, Auto{}, environment);
  EXPECT_TRUE(static_cast<bool>(result));
  return result ? *std::move(result) : start;
}

Schedule of_sizes(int64_t rows, int64_t columns, int64_t depth) {
  return for_wide_vectors(fmt::format("input A: f32[{0}, {2}]\nconst B: f32[{2}, {1}]\n"
                                      "output C: f32[{0}, {1}]\n"
                                      "C[i, j] = sum(k, A[i, k] * B[k, j])\n",
                                      rows, columns, depth));
}

/// Extents of the copy of an operand.
std::vector<int64_t> shape_of_copy(const Schedule& schedule, const std::string& name) {
  std::vector<int64_t> extents;
  for (const program::Tensor& tensor : schedule.scop.tensors)
    if (tensor.name == name)
      for (const scalar::Expr& extent : tensor.shape)
        extents.push_back(scalar::constant_of(extent).value_or(0));
  return extents;
}

bool walks_columns_inside(const Schedule& schedule) {
  const std::string loops = poly::print(schedule.order, poly::names_of_statements(schedule.scop));
  return loops.rfind("for i.1.0:") < loops.rfind("for j.1.0:");
}

TEST(AutoInPlace, gives_rows_that_share_lines_of_the_first_cache_smaller_tiles) {
  EXPECT_EQ(shape_of_copy(of_sizes(2160, 1152, 1000), "B_packed").back(), 3 * 16);
  EXPECT_EQ(shape_of_copy(of_sizes(2160, 1152, 1024), "B_packed").back(), 4 * 16)
      << "rows 4096 bytes apart: six of them, and four vectors";
}

TEST(AutoInPlace, walks_once_through_rows_beyond_the_second_cache) {
  const Schedule large = of_sizes(1024, 1024, 1024);
  EXPECT_TRUE(walks_columns_inside(large)) << listing(large);
  EXPECT_EQ(shape_of_copy(large, "B_packed"), (std::vector<int64_t>{4, 4, 1024, 64}))
      << "blocks of half the second cache";
  const Schedule deep = of_sizes(2048, 2048, 2048);
  EXPECT_TRUE(walks_columns_inside(deep)) << listing(deep);
  const Schedule small = of_sizes(128, 768, 768);
  EXPECT_FALSE(walks_columns_inside(small)) << "its rows stay there, and panels are asked for";
}

TEST(AutoInPlace, copies_what_is_no_run_along_the_sum) {
  const Schedule strided =
      for_wide_vectors("input image: f32[256, 56, 56]\nconst weight: f32[512, 256]\n"
                       "output out: f32[512, 28, 28]\n"
                       "out[k, h, w] = sum(c, image[c, 2 * h, 2 * w] * weight[k, c])\n");
  EXPECT_FALSE(shape_of_copy(strided, "image_packed").empty()) << listing(strided);
}

TEST(AutoInPlace, copies_an_image_in_blocks_that_the_second_cache_holds) {
  const Schedule schedule =
      for_wide_vectors("input image: f32[256, 3136]\nconst weight: f32[64, 256]\n"
                       "output out: f32[64, 3136]\n"
                       "out[k, q] = sum(c, image[c, q] * weight[k, c])\n");
  EXPECT_EQ(shape_of_copy(schedule, "image_packed"), (std::vector<int64_t>{4, 17, 256, 48}))
      << "four blocks of 0.8 MB:\n"
      << listing(schedule);
}

TEST(AutoInPlace, sums_of_f16_take_tiles_of_few_rows) {
  const Schedule schedule = for_wide_vectors("numerics fast\n"
                                             "input A: f16[768, 512]\nconst B: f16[512, 768]\n"
                                             "output C: f32[768, 768]\n"
                                             "C[i, j] = sum(k, A[i, k] * B[k, j])\n");
  EXPECT_NE(poly::print(schedule.order, poly::names_of_statements(schedule.scop))
                .find("avx512.fmadd_f16"),
            std::string::npos)
      << listing(schedule);
  EXPECT_EQ(shape_of_copy(schedule, "B_packed").back(), 4 * 32)
      << "to bring a cell of two bytes into all lanes costs a multiply-add";
}

} // namespace
} // namespace kawara::schedule
