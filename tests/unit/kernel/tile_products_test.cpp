#include "unit/kernel/line.h"

#include <fmt/core.h>

// Products that run as tiles of an instruction with tile registers (AMX), as `auto` plans them, in
// the kernel interpreter.

namespace kawara {
namespace {

struct Sizes {
  int64_t m = 0, n = 0, k = 0;
};

std::string tiled_product(std::string_view left, std::string_view right, std::string_view sum,
                          const Sizes& s, std::string_view numerics = "fast") {
  return fmt::format(
      "numerics {6}\ninput A: {0}[{3}, {5}], B: {1}[{5}, {4}]\noutput C: {2}[{3}, {4}]\n"
      "C[i, j] = sum(k, A[i, k] * B[k, j])\n",
      left, right, sum, s.m, s.n, s.k, numerics);
}

kernel::Kernel by_default(const line::Line& made, std::string_view cpu) {
  return kernel::optimise(made.kernel, *target::named_cpu(cpu));
}

/// What `auto` makes of it for a machine.
std::string default_text(const std::string& text, std::string_view cpu) {
  return kernel::print(by_default(line::compile(text, "auto", *target::named_cpu(cpu)), cpu));
}

constexpr const char* kProductTiles = "sapphirerapids";

TEST(TileProducts, RunWhereTheMachineHasTiles) {
  const Sizes s{64, 64, 128};
  const struct {
    const char *left, *right, *sum, *instruction;
  } cases[] = {{"bf16", "bf16", "f32", "amx.tdpbf16ps"},
               {"i8", "i8", "i32", "amx.tdpbssd"},
               {"u8", "u8", "i32", "amx.tdpbuud"},
               {"u8", "i8", "i32", "amx.tdpbusd"},
               {"i8", "u8", "i32", "amx.tdpbsud"}};
  for (const auto& c : cases) {
    const std::string text = tiled_product(c.left, c.right, c.sum, s);
    EXPECT_NE(default_text(text, kProductTiles).find(c.instruction), std::string::npos) << text;
    EXPECT_EQ(default_text(text, "znver4").find("amx."), std::string::npos) << text;
  }
  const std::string careful = tiled_product("bf16", "bf16", "f32", s, "rounding");
  EXPECT_EQ(default_text(careful, kProductTiles).find("amx."), std::string::npos)
      << "sums are rounded as only `fast` allows";
}

TEST(TileProducts, FewRowsAreLeftToVectors) {
  const auto has_tiles = [](int64_t rows) {
    const std::string text = tiled_product("u8", "i8", "i32", {rows, 256, 512});
    return default_text(text, kProductTiles).find("amx.") != std::string::npos;
  };
  EXPECT_FALSE(has_tiles(2));
  EXPECT_TRUE(has_tiles(64));
}

TEST(TileProducts, ResultsStayInRegistersOverTheReduction) {
  const std::string text =
      default_text(tiled_product("bf16", "bf16", "f32", {64, 64, 128}), kProductTiles);
  EXPECT_NE(text.find("C_tile_element_3 = amx.tdpbf16ps("), std::string::npos) << text;
  EXPECT_NE(text.find("let C_tile_element: f32x256 = broadcast(0.0, 256)"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("C_tile_element_4"), std::string::npos)
      << "there are eight registers" << text;
}

TEST(TileProducts, ComputeTheSameAtAnySize) {
  for (const Sizes& s : {Sizes{64, 64, 128}, {33, 50, 131}, {17, 70, 65}, {100, 20, 67}})
    for (const char* elem : {"i8", "bf16"}) {
      const bool is_float = elem[0] == 'b';
      const std::string text = tiled_product(elem, elem, is_float ? "f32" : "i32", s);
      SCOPED_TRACE(text);
      const line::Line made = line::compile(text, "auto", *target::named_cpu(kProductTiles));
      const kernel::Kernel done = by_default(made, kProductTiles);
      EXPECT_NE(kernel::print(done).find("amx."), std::string::npos) << kernel::print(done);
      EXPECT_EQ(line::difference(made.program, done, {}, 1e-4), "") << kernel::print(done);
    }
}

TEST(TileProducts, WhatFollowsRunsWithEachBlock) {
  const std::string text = "numerics fast\ninput A: i8[40, 100]\nconst W: i8[100, 70], b: "
                           "i32[70]\noutput Y: f32[40, 70]\n"
                           "temp T: i32[40, 70]\nT[i, j] = sum(k, A[i, k] * W[k, j])\n"
                           "Y[i, j] = max(f32(T[i, j] + b[j]) * 0.25, 0.0)\n";
  const line::Line made = line::compile(text, "auto", *target::named_cpu(kProductTiles));
  const kernel::Kernel done = by_default(made, kProductTiles);
  EXPECT_NE(kernel::print(done).find("amx.tdpbssd"), std::string::npos) << kernel::print(done);
  EXPECT_EQ(line::difference(made.program, done, {}), "") << kernel::print(done);
}

} // namespace
} // namespace kawara
