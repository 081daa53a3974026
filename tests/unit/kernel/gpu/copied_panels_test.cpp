#include "unit/kernel/gpu/gpu_line.h"

#include "kernel/walk.h"

namespace kawara::kernel {
namespace {

using gpu_line::compile;
using gpu_line::Line;
using gpu_line::Sizes;

const std::string kOddTiles =
    "distribute(S0.j); distribute(S0.i)\n"
    "[tile(S1.i=64, S1.j=96, S1.k=64); tile(S0.i=64, S0.j=96); tile(S2.i=64, S2.j=96)\n"
    "fuse(S0.i.0, S1.i.0); fuse(S0.j.0, S1.j.0); fuse(S1.i.0, S2.i.0); fuse(S1.j.0, S2.j.0)\n"
    "bind(S0.i.0, block.y); bind(S0.j.0, block.x)]\n"
    "tensorize(S1.i.1, wgmma.m64n96k16.bf16); pipeline(S1.k.0, 2); store_at(acc, S1.j.0)";

/// One multiprocessor: a block has several tiles.
Line with_rows(const std::string& elem, const std::string& ends, const Sizes& sizes) {
  return compile("param M, N, K\ninput A: bf16[M, K], B: bf16[N, K], b: f32[N], R: " + elem +
                     "[M, N]\noutput C: " + elem +
                     "[M, N]\ntemp acc: f32[M, N]\n"
                     "acc[i, j] = sum(k, f32(A[i, k]) * f32(B[j, k]))\nC[i, j] = " +
                     ends + "\n",
                 kOddTiles, sizes, true, 1);
}

bool has_copied_panels(const Line& line) {
  return print(line.kernel).find("shared acc_tiles") != std::string::npos;
}

/// Three panels a tile, an odd number; odd rows, and rows of an even number that is no multiple of
/// eight.
const Sizes kOddRows = {{"M", 100}, {"N", 131}, {"K", 40}},
            kEvenRows = {{"M", 100}, {"N", 130}, {"K", 40}};

TEST(CopiedPanels, rows_that_tma_cannot_write_leave_by_warps) {
  struct Case {
    std::string elem, ends;
    Sizes sizes;
  };
  for (const auto& [elem, ends, sizes] : {Case{"bf16", "max(acc[i, j] + b[j], 0)", kOddRows},
                                          Case{"bf16", "max(acc[i, j] + b[j], 0)", kEvenRows},
                                          Case{"f32", "acc[i, j] + R[i, j]", kOddRows}}) {
    SCOPED_TRACE(elem + " " + ends);
    const Line line = with_rows(elem, ends, sizes);
    EXPECT_EQ(line.broken, std::vector<std::string>{});
    EXPECT_TRUE(has_copied_panels(line)) << print(line.kernel);
    for (const uint64_t seed : {3, 4}) {
      const auto worst = gpu_line::difference(line, sizes, seed);
      ASSERT_TRUE(worst) << worst.error() << "\n" << print(line.kernel);
      EXPECT_LE(*worst, 1e-2);
    }
  }
}

TEST(CopiedPanels, others_leave_as_they_do) {
  EXPECT_TRUE(has_copied_panels(with_rows("bf16", "acc[i, j]", kOddRows)));
  // TMA writes whole rows of 16 bytes.
  EXPECT_FALSE(
      has_copied_panels(with_rows("bf16", "acc[i, j]", {{"M", 100}, {"N", 136}, {"K", 40}})));
  // Pairs beside which others are read, and few rows of pairs.
  EXPECT_FALSE(has_copied_panels(with_rows("bf16", "acc[i, j] + R[i, j]", kEvenRows)));
  EXPECT_FALSE(
      has_copied_panels(with_rows("bf16", "acc[i, j]", {{"M", 20}, {"N", 130}, {"K", 40}})));
}

TEST(CopiedPanels, every_barrier_counts) {
  const Line line = with_rows("bf16", "acc[i, j]", kOddRows);
  size_t count = 0;
  visit(line.kernel.body, [&](const Stmt& stmt) {
    const auto* order = std::get_if<AsyncOp>(&stmt);
    count += order != nullptr && std::holds_alternative<GroupBarrier>(order->what) ? 1 : 0;
  });
  ASSERT_EQ(count, 4U);
  for (size_t left_out = 0; left_out < count; ++left_out) {
    Line other = line;
    size_t number = 0;
    other.kernel.body = rewrite(line.kernel.body, [&](Stmt stmt) {
      const auto* order = std::get_if<AsyncOp>(&stmt);
      const bool is_barrier = order != nullptr && std::holds_alternative<GroupBarrier>(order->what);
      return is_barrier && number++ == left_out ? Block{} : block_of(std::move(stmt));
    });
    std::string error;
    for (const uint64_t seed : {3, 4})
      if (const auto worst = gpu_line::difference(other, kOddRows, seed); !worst)
        error = worst.error();
    EXPECT_NE(error, "") << left_out;
  }
}

} // namespace
} // namespace kawara::kernel
