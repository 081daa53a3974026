#include "gpu_line.h"

// Products of f32 on plain cores, in whole tiles.

namespace kawara::kernel {
namespace {

using gpu_line::compile;
using gpu_line::expect_same;
using gpu_line::Line;
using gpu_line::Sizes;

const Sizes kSmallTiles = {{"M", 64}, {"N", 64}, {"K", 48}};
const Sizes kManyTiles = {{"M", 1024}, {"N", 1024}, {"K", 48}};

std::string f32_product(const std::string& a, const std::string& b) {
  const auto shape = [](std::string index) {
    for (const auto& [from, to] : {std::pair{'i', 'M'}, {'j', 'N'}, {'k', 'K'}})
      std::replace(index.begin(), index.end(), from, to);
    return index;
  };
  return "param M, N, K\ninput A: f32[" + shape(a) + "], B: f32[" + shape(b) +
         "]\noutput C: f32[M, N]\nC[i, j] = sum(k, A[" + a + "] * B[" + b + "])\n";
}

TEST(PlainProducts, OperandsMayLieEitherWay) {
  for (const std::string a : {"i, k", "k, i"})
    for (const std::string b : {"k, j", "j, k"})
      expect_same(f32_product(a, b), "auto", kSmallTiles);
}

TEST(PlainProducts, OperandsAreTurnedOnTheirWayToSharedMemory) {
  const std::string plain = print(compile(f32_product("i, k", "k, j"), "auto", kManyTiles).kernel);
  EXPECT_NE(plain.find("shared A_staged: f32[4, 1, 16, 68]"), std::string::npos) << plain;
  EXPECT_NE(plain.find("shared B_staged: f32[4, 16, 132]"), std::string::npos) << plain;
  const std::string turned = print(compile(f32_product("k, i", "j, k"), "auto", kManyTiles).kernel);
  EXPECT_NE(turned.find("shared A_staged: f32[4, 16, 68]"), std::string::npos) << turned;
  EXPECT_NE(turned.find("shared B_staged: f32[4, 1, 16, 132]"), std::string::npos) << turned;
}

} // namespace
} // namespace kawara::kernel
