#include "unit/kernel/gpu/gpu_line.h"

#include "kernel/walk.h"

namespace kawara::kernel {
namespace {

using gpu_line::compile;
using gpu_line::Line;
using gpu_line::Sizes;

/// Tiles of 64 x 64 on one multiprocessor, which does them one after the other.
Line residual(const std::string& out, const std::string& other, const std::string& ends,
              const Sizes& sizes) {
  const std::string text =
      "param M, N, K\ninput A: bf16[M, K], B: bf16[N, K], b: bf16[N], R: " + other +
      "[M, N], Q: " + other + "[M, N]\noutput C: " + out +
      "[M, N]\ntemp acc: f32[M, N]\n"
      "acc[i, j] = sum(k, f32(A[i, k]) * f32(B[j, k]))\nC[i, j] = " +
      ends + "\n";
  const std::string tiles =
      "distribute(S0.j); distribute(S0.i)\n"
      "[tile(S1.i=64, S1.j=64, S1.k=64); tile(S0.i=64, S0.j=64); tile(S2.i=64, S2.j=64)\n"
      "fuse(S0.i.0, S1.i.0); fuse(S0.j.0, S1.j.0); fuse(S1.i.0, S2.i.0); fuse(S1.j.0, S2.j.0)\n"
      "bind(S0.i.0, block.y); bind(S0.j.0, block.x)]\n"
      "tensorize(S1.i.1, wgmma.m64n64k16.bf16); pipeline(S1.k.0, 2); store_at(acc, S1.j.0)";
  return compile(text, tiles, sizes, true, 1);
}

bool has(const Line& line, const std::string& what) {
  return print(line.kernel).find(what) != std::string::npos;
}

void expect_right(const Line& line, const Sizes& sizes) {
  EXPECT_EQ(line.broken, std::vector<std::string>{});
  ASSERT_TRUE(has_async_op(line.kernel.body)) << print(line.kernel);
  for (const uint64_t seed : {3, 8}) {
    const auto worst = gpu_line::difference(line, sizes, seed);
    ASSERT_TRUE(worst) << worst.error() << "\n" << print(line.kernel);
    EXPECT_LE(*worst, 1e-2) << print(line.kernel);
  }
}

TEST(EpilogueOperands, a_residual_comes_by_panels) {
  const Sizes sizes = {{"M", 72}, {"N", 136}, {"K", 72}};
  const Line line = residual("bf16", "bf16", "max(acc[i, j] + b[j] + R[i, j], 0)", sizes);
  expect_right(line, sizes);
  EXPECT_TRUE(has(line, "R_panels"));
  EXPECT_FALSE(has(line, "b_panels"));
}

TEST(EpilogueOperands, so_do_two_and_those_of_four_bytes) {
  const Sizes sizes = {{"M", 72}, {"N", 136}, {"K", 40}};
  const Line two = residual("bf16", "bf16", "(acc[i, j] + Q[i, j]) * R[i, j] + R[i, j]", sizes);
  expect_right(two, sizes);
  EXPECT_TRUE(has(two, "Q_panels"));
  EXPECT_TRUE(has(two, "R_panels"));
  const Line wide = residual("f32", "f32", "acc[i, j] - R[i, j]", sizes);
  expect_right(wide, sizes);
  EXPECT_TRUE(has(wide, "R_panels"));
}

TEST(EpilogueOperands, what_panels_cannot_hold_is_read_by_threads) {
  const Sizes sizes = {{"M", 72}, {"N", 72}, {"K", 40}};
  // Elements of another width, other elements than the result's, rows that TMA cannot find.
  for (const auto& [line, used] :
       {std::pair(residual("f32", "bf16", "acc[i, j] + R[i, j]", sizes), sizes),
        std::pair(residual("bf16", "bf16", "acc[i, j] + R[i, 71 - j]", sizes), sizes),
        std::pair(residual("bf16", "bf16", "acc[i, j] + R[i, j] * R[71 - i, j]", sizes), sizes),
        std::pair(
            residual("bf16", "bf16", "acc[i, j] + R[i, j]", {{"M", 72}, {"N", 75}, {"K", 40}}),
            Sizes{{"M", 72}, {"N", 75}, {"K", 40}})}) {
    expect_right(line, used);
    EXPECT_FALSE(has(line, "R_panels")) << print(line.kernel);
  }
}

TEST(EpilogueOperands, default_schedules_have_them_and_keep_to_shared_memory) {
  for (const auto& [m, n, k] : {std::tuple(100352, 256, 64), std::tuple(4096, 4096, 4096),
                                std::tuple(1568, 2048, 512), std::tuple(1000, 1000, 776)}) {
    const Line line = compile(
        "param M, N, K\ninput A: bf16[M, K], B: bf16[N, K], R: bf16[M, N]\noutput C: bf16[M, N]\n"
        "temp acc: f32[M, N]\nacc[i, j] = sum(k, f32(A[i, k]) * f32(B[j, k]))\n"
        "C[i, j] = acc[i, j] + R[i, j]\n",
        "auto", {{"M", m}, {"N", n}, {"K", k}});
    EXPECT_EQ(line.broken, std::vector<std::string>{});
    EXPECT_TRUE(has(line, "shared R_panels")) << print(line.kernel);
    int64_t bytes = 0;
    visit(line.kernel.body, [&](const Stmt& stmt) {
      const auto* allocate = std::get_if<Allocate>(&stmt);
      if (allocate == nullptr || line.kernel.buffers[allocate->buffer].scope != Scope::Shared)
        return;
      int64_t size = scalar::bytes_of(line.kernel.buffers[allocate->buffer].elem);
      for (const Expr& extent : line.kernel.buffers[allocate->buffer].shape)
        size *= scalar::constant_of(extent).value_or(0);
      bytes += size;
    });
    EXPECT_LE(bytes, target::named_gpu("sm_90a")->shared_per_block - 2048);
  }
}

/// As the first residual blocks of ResNet-50 have it: two warpgroups to a tile, weights that stay,
/// four panels.
TEST(EpilogueOperands, several_warpgroups_share_panels) {
  const Sizes sizes = {{"M", 200}, {"N", 256}, {"K", 24}};
  const Line line = compile(
      "param M, N, K\ninput A: bf16[M, K], B: bf16[N, K], R: bf16[M, N]\noutput C: bf16[M, N]\n"
      "temp acc: f32[M, N]\nacc[i, j] = sum(k, f32(A[i, k]) * f32(B[j, k]))\n"
      "C[i, j] = max(acc[i, j] + R[i, j], 0)\n",
      "auto", sizes, true, 1);
  EXPECT_TRUE(has(line, "source_empty[4] of 2")) << print(line.kernel);
  EXPECT_TRUE(has(line, "held[1] of 1")) << print(line.kernel);
  const auto worst = gpu_line::difference(line, sizes, 3);
  ASSERT_TRUE(worst) << worst.error();
  EXPECT_LE(*worst, 1e-2);
}

/// What the interpreter says of the kernel without the statements that `is_left_out` picks.
template <class F> std::string residual_without(F is_left_out) {
  const Sizes sizes = {{"M", 192}, {"N", 128}, {"K", 64}};
  Line line = residual("bf16", "bf16", "acc[i, j] + R[i, j]", sizes);
  line.kernel.body = rewrite(line.kernel.body, [&](Stmt stmt) {
    const auto* async_op = std::get_if<AsyncOp>(&stmt);
    return async_op != nullptr && is_left_out(*async_op) ? Block{} : block_of(std::move(stmt));
  });
  const auto worst = gpu_line::difference(line, sizes, 3);
  return worst ? "" : worst.error();
}

TEST(EpilogueOperands, every_wait_that_is_left_out_is_found) {
  EXPECT_EQ(residual_without([](const AsyncOp&) { return false; }), "");
  const auto waits_at = [](uint32_t row) {
    return [row](const AsyncOp& s) {
      const auto* wait = std::get_if<AwaitPhase>(&s.what);
      return wait != nullptr && wait->at.row == row;
    };
  };
  EXPECT_NE(residual_without(waits_at(2)).find("is read before it is written"), std::string::npos);
  EXPECT_NE(residual_without(waits_at(3)), "");
  EXPECT_NE(residual_without([](const AsyncOp& s) {
              const auto* arrive = std::get_if<Arrive>(&s.what);
              return arrive != nullptr && arrive->at.row == 3;
            }).find("wait for each other without end"),
            std::string::npos);
}

} // namespace
} // namespace kawara::kernel
