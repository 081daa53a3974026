#include "unit/kernel/line.h"

#include <fmt/format.h>

// Convolutions whose rows of channels are rows of tiles (AMX), as `auto` plans them, in the kernel
// interpreter.

namespace kawara {
namespace {

constexpr const char* kTileMachine = "sapphirerapids";

struct WindowSizes {
  int64_t channels = 64, filters = 32, width = 14, window = 3, stride = 1;
  bool has_channels_last = true;
};

/// `sizes.width`: of the result, which has three rows.
std::string convolution(const std::string& image, const std::string& weight,
                        const WindowSizes& sizes, const std::string& numerics = "fast") {
  constexpr int64_t kHeight = 3;
  const auto extent = [&](int64_t of_result) {
    return sizes.stride * (of_result - 1) + sizes.window;
  };
  const auto element = [&](const auto& c, const auto& h, const auto& w) {
    return sizes.has_channels_last ? fmt::format("[{}, {}, {}]", h, w, c)
                                   : fmt::format("[{}, {}, {}]", c, h, w);
  };
  const std::string sum = image == "bf16" ? "f32" : "i32";
  return fmt::format(
      "numerics {}\ninput X: {}{}\nconst W: {}[{}, {}, {}, {}]\noutput Y: {}{}\n"
      "Y{} = sum(c, r, s, X{} * W[k, c, r, s])\n",
      numerics, image, element(sizes.channels, extent(kHeight), extent(sizes.width)), weight,
      sizes.filters, sizes.channels, sizes.window, sizes.window, sum,
      element(sizes.filters, kHeight, sizes.width), element("k", "h", "w"),
      element("c", fmt::format("{}*h + r", sizes.stride), fmt::format("{}*w + s", sizes.stride)));
}

kernel::Kernel windows_by_default(const line::Line& made, std::string_view cpu = kTileMachine) {
  return kernel::optimise(made.kernel, *target::named_cpu(cpu));
}

std::string text_by_default(const std::string& text, std::string_view cpu = kTileMachine) {
  return kernel::print(windows_by_default(line::compile(text, "auto", *target::named_cpu(cpu))));
}

bool shows(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(TileWindows, TakeRowsOfChannelsFromWhereTheyLie) {
  const struct {
    const char *image, *weight, *instruction;
    int64_t elements; ///< of a row of a tile
  } cases[] = {{"bf16", "bf16", "amx.tdpbf16ps", 32},
               {"i8", "i8", "amx.tdpbssd", 64},
               {"u8", "u8", "amx.tdpbuud", 64},
               {"u8", "i8", "amx.tdpbusd", 64},
               {"i8", "u8", "amx.tdpbsud", 64}};
  for (const auto& c : cases) {
    const std::string text = text_by_default(convolution(c.image, c.weight, {.channels = 128}));
    EXPECT_TRUE(shows(text, std::string(c.instruction) + "(X[runs(")) << text;
    EXPECT_TRUE(shows(text, fmt::format(", {}, 128, {})]", c.elements, 14 * c.elements)))
        << "14 rows that are 128 channels apart" << text;
    EXPECT_TRUE(shows(text, "W_packed")) << text;
    EXPECT_FALSE(shows(text, "X_packed")) << text;
    EXPECT_FALSE(shows(text_by_default(convolution(c.image, c.weight, {}), "znver4"), "amx."));
  }
}

TEST(TileWindows, SeveralTilesShareTheWeights) {
  const std::string text = text_by_default(convolution("i8", "i8", {.width = 28}));
  EXPECT_TRUE(shows(text, "Y_tile: i32[2, 2, 14, 16]")) << text;
  EXPECT_TRUE(shows(text, "Y_tile_element_3 = amx.tdpbssd(")) << text;
}

TEST(TileWindows, ChannelsThatComeFirstAreLaidOutInRowsOfTiles) {
  const std::string bytes =
      text_by_default(convolution("u8", "i8", {.channels = 128, .has_channels_last = false}));
  EXPECT_TRUE(shows(bytes, "X_laid_out: u8[2, 5, 16, 64]")) << bytes;
  EXPECT_TRUE(shows(bytes, "amx.tdpbusd(X_laid_out[")) << bytes;
  const std::string halves =
      text_by_default(convolution("bf16", "bf16", {.channels = 64, .has_channels_last = false}));
  EXPECT_TRUE(shows(halves, "X_laid_out: bf16[2, 5, 16, 32]")) << halves;
  EXPECT_TRUE(shows(halves, "amx.tdpbf16ps(X_laid_out[")) << halves;
}

TEST(TileWindows, ResultsAreTransposedOverWhereChannelsComeFirst) {
  const std::string text =
      text_by_default(convolution("i8", "i8", {.width = 28, .has_channels_last = false}));
  EXPECT_TRUE(shows(text, ", 1, 14)] = Y_tile[h_w_1_1_0, k_1_1_0, ramp(0, 1, 14), 15]")) << text;
}

TEST(TileWindows, AreLeftToVectorsWhereTilesWouldBeEmpty) {
  for (const WindowSizes& sizes : {WindowSizes{.channels = 16}, WindowSizes{.channels = 96},
                                   WindowSizes{.width = 19}, WindowSizes{.width = 4}})
    EXPECT_FALSE(shows(text_by_default(convolution("u8", "i8", sizes)), "amx."))
        << sizes.channels << " channels, " << sizes.width << " wide";
  EXPECT_FALSE(shows(text_by_default(convolution("bf16", "bf16", {}, "rounding")), "amx."))
      << "sums are rounded as only `fast` allows";
  for (const char* elem : {"u8", "bf16"})
    EXPECT_TRUE(shows(text_by_default(convolution(elem, elem, {})), "amx.")) << elem;
}

/// Half a row of a tile: a plan with copies of the image is refused, and the next best instruction
/// is taken, not none.
TEST(TileWindows, ThatAreRefusedGiveWayToVectors) {
  const std::string text = text_by_default(convolution(
      "u8", "i8", {.channels = 32, .filters = 64, .width = 56, .window = 1, .stride = 2}));
  EXPECT_FALSE(shows(text, "amx.")) << text;
  EXPECT_TRUE(shows(text, "vpdp")) << text;
}

TEST(TileWindows, ComputeTheSame) {
  for (const WindowSizes& sizes :
       {WindowSizes{}, WindowSizes{.channels = 128, .filters = 48, .width = 7},
        WindowSizes{.filters = 40, .width = 28}, WindowSizes{.width = 10, .stride = 2},
        WindowSizes{.filters = 16, .width = 32, .window = 2},
        WindowSizes{.filters = 64, .width = 14, .window = 1, .stride = 2}})
    for (const char* elem : {"i8", "bf16"})
      for (const bool has_channels_last : {true, false}) {
        WindowSizes these = sizes;
        these.has_channels_last = has_channels_last;
        const std::string text = convolution(elem, elem, these);
        SCOPED_TRACE(text);
        const line::Line made = line::compile(text, "auto", *target::named_cpu(kTileMachine));
        const kernel::Kernel done = windows_by_default(made);
        EXPECT_TRUE(shows(kernel::print(done), "amx.")) << kernel::print(done);
        EXPECT_EQ(line::difference(made.program, done, {}, 1e-4), "") << kernel::print(done);
      }
}

TEST(TileWindows, WhatFollowsRunsWithEachBlock) {
  for (const char* layout : {"h, w, k", "k, h, w"}) {
    const bool is_last = layout[0] == 'h';
    const std::string shape = is_last ? "4, 14, 32" : "32, 4, 14";
    const std::string text =
        fmt::format("numerics fast\ninput X: i8[{0}]\nconst W: i8[32, 64, 3, 3], b: i32[32]\n"
                    "output Y: f32[{1}]\ntemp T: i32[{1}]\n"
                    "T[{2}] = sum(c, r, s, X[{3}] * W[k, c, r, s])\n"
                    "Y[{2}] = max(f32(T[{2}] + b[k]) * 0.25, 0.0)\n",
                    is_last ? "6, 16, 64" : "64, 6, 16", shape, layout,
                    is_last ? "h + r, w + s, c" : "c, h + r, w + s");
    SCOPED_TRACE(text);
    const line::Line made = line::compile(text, "auto", *target::named_cpu(kTileMachine));
    const kernel::Kernel done = windows_by_default(made);
    EXPECT_TRUE(shows(kernel::print(done), "amx.tdpbssd")) << kernel::print(done);
    EXPECT_FALSE(shows(kernel::print(done), fmt::format("T: i32[{}]", shape)))
        << "results stay in their tiles" << kernel::print(done);
    EXPECT_TRUE(shows(kernel::print(done), fmt::format("Y: f32[{}]", shape)))
        << kernel::print(done);
    EXPECT_EQ(line::difference(made.program, done, {}), "") << kernel::print(done);
  }
}

} // namespace
} // namespace kawara
