#include "unit/kernel/gpu/gpu_line.h"

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

/// What `auto` does where there are tiles enough, which would be many to interpret.
const std::string kOneTile =
    "distribute(S0.j); distribute(S0.i)\n"
    "tile(S1.i=64, S1.j=128, S1.k=16)\n"
    "split(S1.i.1, 32); split(S1.i.1.1, 4); split(S1.j.1, 64); split(S1.j.1.1, 4)\n"
    "reorder(S1.i.1.1.0, S1.j.1.1.0, S1.k.1, S1.i.1.0, S1.i.1.1.1, S1.j.1.0, S1.j.1.1.1)\n"
    "unroll(S1.k.1)\n"
    "unroll(S1.i.1.0); unroll(S1.i.1.1.1); unroll(S1.j.1.0); vectorize(S1.j.1.1.1, 4)\n"
    "bind(S1.i.1.1.0, thread.y); bind(S1.j.1.1.0, thread.x)\n"
    "tile(S0.i=64, S0.j=128)\n"
    "split(S0.i.1, 32); split(S0.i.1.1, 4); split(S0.j.1, 64); split(S0.j.1.1, 4)\n"
    "reorder(S0.i.1.1.0, S0.j.1.1.0, S0.i.1.0, S0.i.1.1.1, S0.j.1.0, S0.j.1.1.1)\n"
    "unroll(S0.i.1.0); unroll(S0.i.1.1.1); unroll(S0.j.1.0); vectorize(S0.j.1.1.1, 4)\n"
    "bind(S0.i.1.1.0, thread.y); bind(S0.j.1.1.0, thread.x)\n"
    "tile(S2.i=64, S2.j=128)\n"
    "split(S2.i.1, 32); split(S2.i.1.1, 4); split(S2.j.1, 64); split(S2.j.1.1, 4)\n"
    "reorder(S2.i.1.1.0, S2.j.1.1.0, S2.i.1.0, S2.i.1.1.1, S2.j.1.0, S2.j.1.1.1)\n"
    "unroll(S2.i.1.0); unroll(S2.i.1.1.1); unroll(S2.j.1.0); vectorize(S2.j.1.1.1, 4)\n"
    "bind(S2.i.1.1.0, thread.y); bind(S2.j.1.1.0, thread.x)\n"
    "fuse(S0.i.0, S1.i.0); fuse(S0.j.0, S1.j.0); fuse(S1.i.0, S2.i.0); fuse(S1.j.0, S2.j.0); "
    "bind(S0.i.0, block.y); bind(S0.j.0, block.x)\n"
    "stage(A, S1.k.0, panel=0, width=64)\n"
    "split(S3.d0.1, 8)\n"
    "reorder(S3.d0.1.1, S3.d1, S3.d0.0, S3.d0.1.0); bind(S3.d0.1.1, thread.y); bind(S3.d1, "
    "thread.x); unroll(S3.d0.1.0)\n"
    "stage(B, S1.k.0)\n"
    "split(S4.d1, 4); coalesce(S4.d0, S4.d1.0); split(S4.d0_d1.0, 16); split(S4.d0_d1.0.0, 8); "
    "reorder(S4.d0_d1.0.0.1, S4.d0_d1.0.1, S4.d0_d1.0.0.0, S4.d1.1); bind(S4.d0_d1.0.0.1, "
    "thread.y); bind(S4.d0_d1.0.1, thread.x); unroll(S4.d0_d1.0.0.0); vectorize(S4.d1.1, 4)\n"
    "pipeline(S1.k.0, 4)\n"
    "store_at(acc, S1.j.0)\n";

TEST(PlainProducts, ATileOf128ThreadsIsRight) {
  expect_same("param M, N, K\ninput A: f32[M, K], B: f32[K, N]\noutput C: f32[M, N]\n"
              "temp acc: f32[M, N]\nacc[i, j] = sum(k, A[i, k] * B[k, j])\nC[i, j] = acc[i, j]\n",
              kOneTile, {{"M", 64}, {"N", 128}, {"K", 80}});
}

TEST(PlainProducts, OperandsMayLieEitherWay) {
  for (const std::string a : {"i, k", "k, i"})
    for (const std::string b : {"k, j", "j, k"})
      expect_same(f32_product(a, b), "auto", kSmallTiles);
}

TEST(PlainProducts, OperandsAreTransposedOnTheirWayToSharedMemory) {
  const std::string plain = print(compile(f32_product("i, k", "k, j"), "auto", kManyTiles).kernel);
  EXPECT_NE(plain.find("shared A_staged: f32[4, 1, 16, 68]"), std::string::npos) << plain;
  EXPECT_NE(plain.find("shared B_staged: f32[4, 16, 132]"), std::string::npos) << plain;
  const std::string transposed =
      print(compile(f32_product("k, i", "j, k"), "auto", kManyTiles).kernel);
  EXPECT_NE(transposed.find("shared A_staged: f32[4, 16, 68]"), std::string::npos) << transposed;
  EXPECT_NE(transposed.find("shared B_staged: f32[4, 1, 16, 132]"), std::string::npos)
      << transposed;
}

} // namespace
} // namespace kawara::kernel
