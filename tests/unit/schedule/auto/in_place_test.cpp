#include "unit/schedule/auto/facts.h"

#include <fmt/format.h>

namespace kawara::schedule {
namespace {

Schedule for_wide_vectors(const std::string& text) {
  return for_one_core_of("sapphirerapids", text);
}

/// A 1x1 convolution: `channels` of `elements` into so many others.
std::string of_image(int64_t channels, int64_t elements, int64_t others) {
  return fmt::format("input image: f32[{0}, {1}]\nconst weight: f32[{2}, {0}]\n"
                     "output out: f32[{2}, {1}]\n"
                     "out[k, q] = sum(c, image[c, q] * weight[k, c])\n",
                     channels, elements, others);
}

Schedule of_sizes(int64_t rows, int64_t columns, int64_t depth) {
  return for_wide_vectors(fmt::format("input A: f32[{0}, {2}]\nconst B: f32[{2}, {1}]\n"
                                      "output C: f32[{0}, {1}]\n"
                                      "C[i, j] = sum(k, A[i, k] * B[k, j])\n",
                                      rows, columns, depth));
}

bool copies_image(const Schedule& schedule) { return is_copied(schedule, "image"); }

bool walks_columns_inside(const Schedule& schedule) {
  const LoopsAround update = around(schedule, 1);
  return update.depth_of_steps("i") < update.depth_of_steps("j");
}

TEST(AutoInPlace, gives_rows_that_share_lines_of_the_l1_smaller_tiles) {
  EXPECT_EQ(extents_of(of_sizes(2160, 1152, 1000), "B_packed").back(), 3 * 16);
  EXPECT_EQ(extents_of(of_sizes(2160, 1152, 1024), "B_packed").back(), 4 * 16)
      << "rows 4096 bytes apart: six of them, and four vectors";
}

TEST(AutoInPlace, walks_once_through_rows_beyond_the_l2) {
  const Schedule large = of_sizes(1024, 1024, 1024);
  EXPECT_TRUE(walks_columns_inside(large)) << listing(large);
  EXPECT_EQ(extents_of(large, "B_packed"), (std::vector<int64_t>{4, 4, 1024, 64}))
      << "blocks of half the L2";
  const Schedule deep = of_sizes(2048, 2048, 2048);
  EXPECT_TRUE(walks_columns_inside(deep)) << listing(deep);
  const Schedule small = of_sizes(128, 768, 768);
  EXPECT_FALSE(walks_columns_inside(small)) << "its rows stay there, and panels are asked for";
}

TEST(AutoInPlace, asks_for_panels_while_the_l2_holds_the_rows_of_a_block_of_the_sum) {
  const Schedule cut = of_sizes(250, 700, 3000);
  EXPECT_FALSE(walks_columns_inside(cut)) << "3 MB of rows, 1 MB in each block:\n" << listing(cut);
  EXPECT_TRUE(prefetches(cut)) << listing(cut);
  const Schedule tall = of_sizes(1000, 700, 3000);
  EXPECT_TRUE(walks_columns_inside(tall)) << "4 MB in each block:\n" << listing(tall);
  EXPECT_FALSE(prefetches(tall)) << listing(tall);
}

TEST(AutoInPlace, copies_what_is_no_run_along_the_sum) {
  const Schedule strided =
      for_wide_vectors("input image: f32[256, 56, 56]\nconst weight: f32[512, 256]\n"
                       "output out: f32[512, 28, 28]\n"
                       "out[k, h, w] = sum(c, image[c, 2 * h, 2 * w] * weight[k, c])\n");
  EXPECT_TRUE(copies_image(strided)) << listing(strided);
}

TEST(AutoInPlace, copies_an_image_in_blocks_that_the_l2_holds) {
  const Schedule schedule = for_wide_vectors(of_image(256, 3136, 64));
  EXPECT_EQ(extents_of(schedule, "image_packed"), (std::vector<int64_t>{7, 10, 256, 48}))
      << "seven blocks of 0.5 MB:\n"
      << listing(schedule);
}

TEST(AutoInPlace, reads_an_image_unpacked_that_few_results_use) {
  const Schedule few = for_wide_vectors(of_image(96, 3136, 24));
  EXPECT_FALSE(copies_image(few)) << listing(few);
  EXPECT_TRUE(prefetches(few)) << "1.2 MB come from beyond the L2:\n" << listing(few);
  const Schedule near = for_wide_vectors(of_image(64, 1024, 48));
  EXPECT_FALSE(copies_image(near) || prefetches(near)) << listing(near);
  EXPECT_TRUE(copies_image(for_wide_vectors(of_image(256, 3136, 24))))
      << "each of 256 channels is in other pages";
  EXPECT_TRUE(copies_image(for_wide_vectors(of_image(64, 3136, 512)))) << "used by many results";
  const Schedule narrow = for_one_core_of("neoverse-n1", of_image(96, 3136, 24));
  EXPECT_TRUE(!copies_image(narrow) && prefetches(narrow)) << listing(narrow);
  EXPECT_TRUE(copies_image(for_one_core_of("neoverse-n1", of_image(64, 1024, 48))))
      << "narrow vectors do not wait for what is in the L2";
}

TEST(AutoInPlace, reads_elements_of_a_small_image_unpacked) {
  EXPECT_FALSE(copies_image(for_wide_vectors(of_image(576, 49, 160))));
  EXPECT_TRUE(copies_image(for_wide_vectors(of_image(160, 49, 960)))) << "used by many columns";
}

TEST(AutoInPlace, has_room_for_two_panels_in_the_l2) {
  const auto of_channels = [](int64_t channels) {
    return for_wide_vectors(
        fmt::format("input image: f32[{0}, 9, 9]\nconst weight: f32[512, {0}, 3, 3]\n"
                    "output out: f32[512, 7, 7]\n"
                    "out[k, h, w] = sum(c, r, s, image[c, h + r, w + s] * weight[k, c, r, s])\n",
                    channels));
  };
  EXPECT_EQ(extents_of(of_channels(256), "weight_packed").back(), 48);
  EXPECT_EQ(extents_of(of_channels(512), "weight_packed").back(), 32)
      << "two panels of 48 columns would be 1.8 of 2 MB";
}

TEST(AutoInPlace, cuts_long_sums_into_equal_parts) {
  EXPECT_EQ(extents_of(of_sizes(49, 512, 4608), "B_packed"),
            (std::vector<int64_t>{6, 11, 768, 48}));
  EXPECT_EQ(extents_of(of_sizes(49, 512, 4600), "B_packed"),
            (std::vector<int64_t>{5, 11, 920, 48}));
  EXPECT_EQ(extents_of(of_sizes(49, 512, 4603), "B_packed"), (std::vector<int64_t>{5, 11, 928, 48}))
      << "no part divides it";
}

Schedule in_f16(int64_t rows, int64_t columns, int64_t depth) {
  return for_wide_vectors(
      fmt::format("numerics fast\ninput A: f16[{0}, {2}]\nconst B: f16[{2}, {1}]\n"
                  "output C: f32[{0}, {1}]\n"
                  "C[i, j] = sum(k, A[i, k] * B[k, j])\n",
                  rows, columns, depth));
}

bool multiplies_f16(const Schedule& schedule) {
  return poly::print(schedule.order, poly::names_of_statements(schedule.scop))
             .find("avx512.fmadd_f16") != std::string::npos;
}

TEST(AutoInPlace, sums_of_f16_take_tiles_of_few_rows) {
  const Schedule schedule = in_f16(768, 768, 512);
  EXPECT_TRUE(multiplies_f16(schedule)) << listing(schedule);
  EXPECT_EQ(extents_of(schedule, "B_packed").back(), 4 * 32);
}

TEST(AutoInPlace, rows_of_f16_are_copied_as_runs) {
  const Schedule schedule = in_f16(768, 768, 512);
  EXPECT_EQ(extents_of(schedule, "A_packed").back(), 128) << listing(schedule);
  EXPECT_TRUE(multiplies_f16(in_f16(64, 64, 256))) << "that is worth it for few columns too";
  EXPECT_TRUE(multiplies_f16(in_f16(20, 96, 300)));
}

} // namespace
} // namespace kawara::schedule
