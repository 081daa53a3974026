#include "unit/schedule/auto/facts.h"

#include <fmt/format.h>

namespace kawara::schedule {
namespace {

/// Type of a tensor; nothing where there is none.
std::optional<scalar::Elem> elem_of(const Schedule& schedule, const std::string& name) {
  for (const program::Tensor& tensor : schedule.scop.tensors)
    if (tensor.name == name)
      return tensor.elem;
  return std::nullopt;
}

/// A 3x3 convolution of an image whose channels come first.
std::string channels_first(const std::string& image, const std::string& weight,
                           const std::string& sum, int64_t channels, int64_t filters = 48) {
  return fmt::format("input X: {0}[{3}, 18, 18]\nconst W: {1}[{4}, {3}, 3, 3]\n"
                     "output Y: {2}[{4}, 16, 16]\n"
                     "Y[k, h, w] = sum(c, r, s, X[c, h + r, w + s] * W[k, c, r, s])\n",
                     image, weight, sum, channels, filters);
}

TEST(AutoGroups, lay_channels_of_bytes_side_by_side) {
  const Schedule made = for_one_core_of("neoverse-n1", channels_first("i8", "i8", "i32", 32));
  EXPECT_TRUE(uses(made, "neon.sdot")) << loops_of(made);
  EXPECT_EQ(extents_of(made, "X_laid_out").back(), 4);
  EXPECT_TRUE(
      uses(for_one_core_of("neoverse-n1", channels_first("u8", "u8", "i32", 32)), "neon.udot"));
}

TEST(AutoGroups, are_those_of_the_processor) {
  const Schedule bytes = for_one_core_of("sapphirerapids", channels_first("u8", "i8", "i32", 32));
  EXPECT_TRUE(uses(bytes, "avx512.vpdpbusd")) << loops_of(bytes);
  const Schedule halves =
      for_one_core_of("neoverse-v1", "numerics fast\n" + channels_first("bf16", "bf16", "f32", 32));
  EXPECT_TRUE(uses(halves, "neon.bfdot")) << loops_of(halves);
  EXPECT_EQ(extents_of(halves, "X_laid_out").back(), 2);
}

TEST(AutoTileRows, are_groups_of_64_bytes_that_are_transposed_over_in_squares) {
  const Schedule made = for_one_core_of("sapphirerapids", channels_first("u8", "i8", "i32", 128));
  EXPECT_TRUE(uses(made, "amx.tdpbusd")) << loops_of(made);
  EXPECT_EQ(extents_of(made, "X_laid_out"), (std::vector<int64_t>{2, 18, 18, 64}));
  const LoopsAround copy = around(made, 2);
  EXPECT_EQ(copy.lanes_along(), "d0") << loops_of(made);
  EXPECT_EQ(copy.lanes(), 16) << loops_of(made);
  EXPECT_EQ(copy.unrolled().count("d2"), 1U) << "whole rows of the image, 18 elements\n"
                                             << loops_of(made);
}

TEST(AutoTileRows, need_tiles_and_channels_that_fill_them) {
  const auto loops = [](const char* cpu, const char* elem, int64_t channels) {
    return for_one_core_of(
        cpu,
        "numerics fast\n" + channels_first(elem, elem, elem[0] == 'b' ? "f32" : "i32", channels));
  };
  EXPECT_TRUE(uses(loops("sapphirerapids", "bf16", 32), "amx.tdpbf16ps"));
  EXPECT_TRUE(uses(loops("sapphirerapids", "i8", 64), "amx.tdpbssd"));
  EXPECT_FALSE(uses(loops("sapphirerapids", "bf16", 24), "amx."));
  EXPECT_FALSE(uses(loops("sapphirerapids", "i8", 32), "amx."));
  EXPECT_FALSE(uses(loops("znver4", "i8", 64), "amx."));
}

TEST(AutoGroups, of_filters_that_fill_no_last_vector) {
  for (const int64_t filters : {20, 40, 56, 72}) {
    const Schedule made = for_one_core_of(
        "sapphirerapids",
        fmt::format("input X: u8[32, 7, 7]\nconst W: i8[{0}, 32, 3, 3]\noutput Y: i32[{0}, 5, 5]\n"
                    "Y[k, h, w] = sum(c, r, s, X[c, h + r, w + s] * W[k, c, r, s])\n",
                    filters));
    EXPECT_TRUE(uses(made, "avx512.vpdpbusd")) << filters << "\n" << loops_of(made);
  }
}

TEST(AutoGroups, that_are_not_whole_end_in_zeros) {
  const Schedule made = for_one_core_of("neoverse-n1", channels_first("i8", "i8", "i32", 30));
  EXPECT_TRUE(uses(made, "neon.sdot")) << loops_of(made);
  EXPECT_EQ(extents_of(made, "X_padded").front(), 8);
}

TEST(AutoGroups, lie_there_already_where_channels_come_last) {
  const Schedule made = for_one_core_of(
      "neoverse-n1",
      "input X: i8[18, 18, 32]\nconst W: i8[3, 3, 32, 48]\noutput Y: i32[16, 16, 48]\n"
      "Y[h, w, k] = sum(r, s, c, X[h + r, w + s, c] * W[r, s, c, k])\n");
  EXPECT_TRUE(uses(made, "neon.sdot")) << loops_of(made);
  EXPECT_FALSE(is_copied(made, "X")) << loops_of(made);
  EXPECT_TRUE(is_packed(made, "W")) << loops_of(made);
}

TEST(AutoGroups, of_one_row_are_read_unpacked) {
  const Schedule made = for_one_core_of(
      "neoverse-n1", "input X: i8[1, 256]\nconst W: i8[256, 512]\noutput Y: i32[1, 512]\n"
                     "Y[i, j] = sum(k, X[i, k] * W[k, j])\n");
  EXPECT_TRUE(uses(made, "neon.sdot")) << loops_of(made);
}

TEST(AutoGroups, of_signed_bytes_are_kept_as_i16_where_the_instruction_takes_those) {
  const Schedule made = for_one_core_of("sapphirerapids", channels_first("i8", "i8", "i32", 32));
  EXPECT_TRUE(uses(made, "avx512.vpdpwssd")) << loops_of(made);
  EXPECT_EQ(extents_of(made, "X_laid_out").back(), 2);
  EXPECT_EQ(elem_of(made, "X_laid_out"), scalar::Elem::I16);
}

TEST(AutoGroups, may_leave_lanes_of_an_instruction_empty) {
  const Schedule made =
      for_one_core_of("sapphirerapids", channels_first("u8", "i8", "i32", 32, 24));
  EXPECT_TRUE(uses(made, "avx512.vpdpbusd")) << loops_of(made);
}

TEST(AutoGroups, half_floats_are_converted_once_where_no_instruction_takes_them) {
  for (const char* elem : {"f16", "bf16"})
    for (const char* cpu : {"neoverse-n1", "sapphirerapids"}) {
      const Schedule made = for_one_core_of(cpu, channels_first(elem, elem, "f32", 32));
      EXPECT_EQ(elem_of(made, "X_laid_out"), scalar::Elem::F32) << loops_of(made);
      EXPECT_EQ(elem_of(made, "W_packed"), scalar::Elem::F32) << loops_of(made);
    }
}

TEST(AutoGroups, f16_is_added_up_in_f16_block_by_block_where_that_is_allowed) {
  const Schedule made =
      for_one_core_of("neoverse-n1", "numerics fast\n" + channels_first("f16", "f16", "f32", 32));
  EXPECT_TRUE(uses(made, "neon.fmla_f16")) << loops_of(made);
  // 16 channels of 9 taps are a block, and the image stays as it is.
  EXPECT_EQ(extents_of(made, "W_packed")[1], 2) << loops_of(made);
  EXPECT_FALSE(is_copied(made, "X"));
}

TEST(AutoGroups, half_floats_stay_where_few_filters_use_them) {
  const Schedule made =
      for_one_core_of("neoverse-n1", "input X: f16[32, 18, 18]\nconst W: f16[32, 3, 3]\n"
                                     "output Y: f32[32, 16, 16]\n"
                                     "Y[c, h, w] = sum(r, s, X[c, h + r, w + s] * W[c, r, s])\n");
  EXPECT_FALSE(is_copied(made, "X")) << loops_of(made);
  EXPECT_TRUE(
      is_copied(for_one_core_of("neoverse-n1", channels_first("f16", "f16", "f32", 32)), "X"))
      << "48 filters use them";
}

TEST(AutoGroups, are_not_made_where_nothing_gains) {
  for (const std::string& text :
       {channels_first("f32", "f32", "f32", 32), channels_first("i8", "i8", "i32", 1),
        channels_first("i16", "i16", "i32", 32)}) {
    const Schedule made = for_one_core_of("neoverse-n1", text);
    EXPECT_FALSE(is_copied(made, "X")) << loops_of(made);
  }
  EXPECT_TRUE(
      is_copied(for_one_core_of("neoverse-n1", channels_first("i8", "i8", "i32", 32)), "X"));
}

} // namespace
} // namespace kawara::schedule
