#include "unit/kernel/gpu/gpu_line.h"

#include "kernel/walk.h"

namespace kawara::kernel {
namespace {

using gpu_line::compile;
using gpu_line::Line;
using gpu_line::Sizes;

/// Tiles of 64 x 64, which are quick to interpret, and the reduction in a ring of two boxes.
const std::string kTiles =
    "distribute(S0.j); distribute(S0.i)\n"
    "[tile(S1.i=64, S1.j=64, S1.k=64); tile(S0.i=64, S0.j=64); tile(S2.i=64, S2.j=64)\n"
    "fuse(S0.i.0, S1.i.0); fuse(S0.j.0, S1.j.0); fuse(S1.i.0, S2.i.0); fuse(S1.j.0, S2.j.0)\n"
    "bind(S0.i.0, block.y); bind(S0.j.0, block.x)]\n"
    "tensorize(S1.i.1, wgmma.m64n64k16.bf16); pipeline(S1.k.0, 2); store_at(acc, S1.j.0)";

std::string product(const std::string& a, const std::string& b, const std::string& out,
                    const std::string& ends) {
  return "param M, N, K\ninput A: bf16[" + a + "], B: bf16[" + b +
         "], b: f32[N]\noutput C: " + out +
         "[M, N]\ntemp acc: f32[M, N]\nacc[i, j] = sum(k, f32(A[" +
         (a == "M, K" ? "i, k" : "k, i") + "]) * f32(B[" + (b == "K, N" ? "k, j" : "j, k") +
         "]))\nC[i, j] = " + ends + "\n";
}

void expect_same(const Line& line, const Sizes& sizes, double tolerance) {
  EXPECT_EQ(line.broken, std::vector<std::string>{});
  ASSERT_TRUE(has_async_op(line.kernel.body)) << print(line.kernel);
  const auto worst = gpu_line::difference(line, sizes, 7);
  ASSERT_TRUE(worst) << worst.error() << "\n" << print(line.kernel);
  EXPECT_LE(*worst, tolerance) << print(line.kernel);
}

TEST(Warpgroups, compute_what_the_loops_do) {
  const Sizes sizes = {{"M", 128}, {"N", 128}, {"K", 192}};
  expect_same(compile(product("M, K", "K, N", "f32", "acc[i, j]"), kTiles, sizes), sizes, 1e-5);
}

TEST(Warpgroups, default_schedules_use_them_at_any_size) {
  for (const Sizes& sizes :
       {Sizes{{"M", 4096}, {"N", 4096}, {"K", 4096}}, Sizes{{"M", 1000}, {"N", 1000}, {"K", 776}},
        Sizes{{"M", 1000}, {"N", 1001}, {"K", 777}}, Sizes{{"M", 20}, {"N", 72}, {"K", 40}}}) {
    const Line line = compile(product("M, K", "K, N", "bf16", "acc[i, j]"), "auto", sizes);
    EXPECT_EQ(line.broken, std::vector<std::string>{});
    EXPECT_TRUE(has_async_op(line.kernel.body)) << print(line.kernel);
  }
}

TEST(Warpgroups, operands_may_lie_either_way_and_edges_are_filled_with_zeros) {
  const Sizes sizes = {{"M", 72}, {"N", 80}, {"K", 136}};
  for (const std::string a : {"M, K", "K, M"})
    for (const std::string b : {"K, N", "N, K"}) {
      SCOPED_TRACE(a + " and " + b);
      expect_same(compile(product(a, b, "bf16", "max(acc[i, j] + b[j], 0)"), kTiles, sizes), sizes,
                  1e-2);
    }
}

/// Two buffers for panels of 64 columns: three panels end with the buffer that the next tile begins
/// with.
TEST(Warpgroups, a_tile_does_not_overwrite_panels_of_the_last_one) {
  const Sizes sizes = {{"M", 256}, {"N", 144}, {"K", 24}};
  std::string tiles = kTiles;
  for (size_t at = tiles.find("j=64"); at != std::string::npos; at = tiles.find("j=64"))
    tiles.replace(at, 4, "j=144");
  tiles.replace(tiles.find("n64k16"), 6, "n144k16");
  const Line line =
      compile(product("M, K", "N, K", "bf16", "max(acc[i, j] + b[j], 0)"), tiles, sizes, true, 1);
  expect_same(line, sizes, 1e-2);
}

TEST(Warpgroups, threads_store_what_tma_cannot) {
  const Sizes sizes = {{"M", 70}, {"N", 75}, {"K", 72}};
  const Line line = compile(product("M, K", "N, K", "bf16", "acc[i, j]"), kTiles, sizes);
  expect_same(line, sizes, 1e-2);
  EXPECT_EQ(print(line.kernel).find("bulk C"), std::string::npos);
  const Line even = compile(product("M, K", "N, K", "bf16", "acc[i, j]"), kTiles,
                            {{"M", 70}, {"N", 80}, {"K", 72}});
  EXPECT_NE(print(even.kernel).find("bulk C"), std::string::npos) << print(even.kernel);
}

TEST(Warpgroups, operands_whose_rows_tma_cannot_find_are_copied_first) {
  const Sizes sizes = {{"M", 66}, {"N", 65}, {"K", 71}};
  const Line line = compile(product("M, K", "K, N", "f32", "acc[i, j]"), kTiles, sizes);
  expect_same(line, sizes, 1e-5);
  EXPECT_NE(print(line.kernel).find("workspace A_padded: bf16[66, 72]"), std::string::npos);
}

/// Sums that go on from given elements: past the end of the tensor there are none, and nothing is
/// made of them.
TEST(Warpgroups, sums_that_go_on_from_given_elements_may_end_anywhere) {
  const Sizes sizes = {{"M", 19}, {"N", 35}, {"K", 21}};
  const Line line =
      compile("param M, N, K\ninput A: bf16[M, K], B: bf16[K, N]\n"
              "inout C: f32[M, N]\nfor i in range(M):\n    for j in range(N):\n"
              "        for k in range(K):\n            C[i, j] += A[i, k] * B[k, j]\n",
              "auto", sizes);
  expect_same(line, sizes, 1e-5);
}

TEST(Warpgroups, loops_stay_where_sizes_are_not_known) {
  const Sizes sizes = {{"M", 9}, {"N", 10}, {"K", 11}};
  const Line line = compile(product("M, K", "K, N", "f32", "acc[i, j]"), kTiles, sizes, false);
  EXPECT_FALSE(has_async_op(line.kernel.body));
  const Line known = compile(product("M, K", "K, N", "f32", "acc[i, j]"), kTiles, sizes);
  EXPECT_TRUE(has_async_op(known.kernel.body));
  const auto worst = gpu_line::difference(line, sizes, 1);
  ASSERT_TRUE(worst) << worst.error();
  EXPECT_LE(*worst, 1e-5);
}

/// All tiles of a block read the same of the right operand: it comes with the first one. The
/// results' tiles differ in rows only.
const Sizes kTall = {{"M", 200}, {"N", 64}, {"K", 136}};

TEST(Warpgroups, a_right_operand_that_all_tiles_share_stays) {
  for (const std::string b : {"K, N", "N, K"}) {
    const Line line =
        compile(product("M, K", b, "bf16", "max(acc[i, j], 0)"), kTiles, kTall, true, 1);
    expect_same(line, kTall, 1e-2);
    EXPECT_NE(print(line.kernel).find("mbarrier held[3] of 1"), std::string::npos);
  }
  for (const Sizes& sizes : {Sizes{{"M", 64}, {"N", 64}, {"K", 136}},      // one tile
                             Sizes{{"M", 200}, {"N", 128}, {"K", 136}},    // tiles that differ
                             Sizes{{"M", 200}, {"N", 64}, {"K", 4096}}}) { // no room
    const Line line = compile(product("M, K", "N, K", "bf16", "acc[i, j]"), kTiles, sizes, true, 1);
    EXPECT_EQ(print(line.kernel).find("held"), std::string::npos);
  }
}

/// What the interpreter says of the kernel without the statements that `is_left_out` picks.
template <class F>
std::string without(F is_left_out, const Sizes& sizes = {{"M", 64}, {"N", 64}, {"K", 256}}) {
  Line line = compile(product("M, K", "K, N", "bf16", "acc[i, j]"), kTiles, sizes, true, 1);
  line.kernel.body = rewrite(line.kernel.body, [&](Stmt stmt) {
    const auto* async_op = std::get_if<AsyncOp>(&stmt);
    return async_op != nullptr && is_left_out(*async_op) ? Block{} : block_of(std::move(stmt));
  });
  // Loads end in another order with an even seed.
  for (const uint64_t seed : {3, 4})
    if (const auto worst = gpu_line::difference(line, sizes, seed); !worst)
      return worst.error();
  return "";
}

TEST(Warpgroups, every_wait_that_is_left_out_is_found) {
  EXPECT_EQ(without([](const AsyncOp&) { return false; }), "");
  const auto waits_at = [](uint32_t row) {
    return [row](const AsyncOp& s) {
      const auto* wait = std::get_if<AwaitPhase>(&s.what);
      return wait != nullptr && wait->at.row == row;
    };
  };
  EXPECT_NE(without(waits_at(0)).find("is read before it is written"), std::string::npos);
  EXPECT_NE(without(waits_at(1)), "");
  EXPECT_NE(without(waits_at(2), kTall).find("is read before it is written"), std::string::npos);
  EXPECT_NE(without([](const AsyncOp& s) { return std::get_if<AwaitMma>(&s.what) != nullptr; }),
            "");
  EXPECT_NE(without([](const AsyncOp& s) { return std::get_if<GroupBarrier>(&s.what) != nullptr; }),
            "");
  EXPECT_NE(
      without([](const AsyncOp& s) { return std::get_if<AwaitBulkStores>(&s.what) != nullptr; }),
      "");
  EXPECT_NE(without([](const AsyncOp& s) {
              const auto* arrive = std::get_if<Arrive>(&s.what);
              return arrive != nullptr && arrive->at.row == 1;
            }).find("wait for each other without end"),
            std::string::npos);
}

/// What the spec says of a kernel whose bulk loads were changed; nothing about others.
template <class F> std::string spec_with_loads(F change) {
  Line line = compile(product("M, K", "K, N", "bf16", "acc[i, j]"), kTiles,
                      {{"M", 64}, {"N", 64}, {"K", 256}}, true, 1);
  line.kernel.body = rewrite(line.kernel.body, [&](Stmt stmt) {
    if (auto* async_op = std::get_if<AsyncOp>(&stmt))
      if (auto* load = std::get_if<BulkLoad>(&async_op->what))
        change(line.kernel, *load);
    return block_of(std::move(stmt));
  });
  const std::vector<std::string> broken = spec(line.kernel);
  return broken.empty() ? "" : broken.front();
}

TEST(Warpgroups, boxes_that_the_driver_refuses_break_the_spec) {
  EXPECT_EQ(spec_with_loads([](Kernel&, BulkLoad&) {}), "");
  EXPECT_NE(spec_with_loads([](Kernel&, BulkLoad& load) {
              load.box.back() = 128;
            }).find("rows of a box have 256 bytes"),
            std::string::npos);
  EXPECT_NE(spec_with_loads([](Kernel&, BulkLoad& load) {
              load.box.back() = 4;
            }).find("rows of a box have 8 bytes"),
            std::string::npos);
  EXPECT_NE(spec_with_loads([](Kernel&, BulkLoad& load) {
              load.box.front() = 257;
            }).find("a box has 257 rows"),
            std::string::npos);
  EXPECT_NE(spec_with_loads([](Kernel& kernel, BulkLoad& load) {
              kernel.buffers[load.from.buffer].shape.back() = scalar::int_lit(75);
            }).find("rows are 150 bytes apart"),
            std::string::npos);
}

/// Bytes of shared memory that the launches of a kernel take, the largest of them.
int64_t shared_bytes(const Kernel& kernel) {
  int64_t bytes = 0;
  visit(kernel.body, [&](const Stmt& stmt) {
    const auto* allocate = std::get_if<Allocate>(&stmt);
    if (allocate == nullptr || kernel.buffers[allocate->buffer].scope != Scope::Shared)
      return;
    int64_t own = scalar::bytes_of(kernel.buffers[allocate->buffer].elem);
    for (const scalar::Expr& extent : kernel.buffers[allocate->buffer].shape)
      own *= scalar::constant_of(extent).value_or(1);
    bytes += own;
  });
  return bytes;
}

TEST(Warpgroups, WholePanelsOfOneStepFitSharedMemory) {
  // 160 columns of the right operand come as three panels of 64.
  const std::string text = "param M, N, K\ninput A: bf16[M, K], B: bf16[K, N]\n"
                           "output C: bf16[M, N]\ntemp acc: f32[M, N]\n"
                           "acc[i, j] = sum(k, f32(A[i, k]) * f32(B[k, j]))\n"
                           "C[i, j] = acc[i, j]\n";
  const auto line =
      gpu_line::compile(text, "auto", {{"M", 344}, {"N", 11848}, {"K", 64}}, true, 132);
  const int64_t bytes = shared_bytes(line.kernel);
  EXPECT_GT(bytes, 100 * 1024) << print(line.kernel);
  EXPECT_LE(bytes, target::named_gpu("sm_90a")->shared_per_block) << print(line.kernel);
}

} // namespace
} // namespace kawara::kernel
