#include "unit/kernel/gpu/gpu_line.h"

#include "kernel/walk.h"

namespace kawara::kernel {
namespace {

using gpu_line::compile;
using gpu_line::Line;
using gpu_line::Sizes;

/// Attention of H heads in which position i sees positions before `end`.
std::string attention(const std::string& end, const std::string& numerics = "fast",
                      const std::string& more = "") {
  return "param H, N, D\nnumerics " + numerics +
         "\ninput Q: bf16[H, N, D], K: bf16[H, N, D], V: bf16[H, N, D], bias: f32[N, N]\n"
         "output out: bf16[H, N, D]\n"
         "temp scores: f32[H, N, N], weights: f32[H, N, N], P: bf16[H, N, N]\n"
         "temp best: f32[H, N], total: f32[H, N], acc: f32[H, N, D]\n"
         "for h in range(H):\n"
         "    for i in range(N):\n"
         "        for j in range(" +
         end +
         "):\n"
         "            scores[h, i, j] = 0\n"
         "            for d in range(D):\n"
         "                scores[h, i, j] += f32(Q[h, i, d]) * f32(K[h, j, d])\n"
         "        best[h, i] = -inf\n"
         "        for j in range(" +
         end +
         "):\n"
         "            best[h, i] max= scores[h, i, j]" +
         more +
         "\n"
         "        for j in range(" +
         end +
         "):\n"
         "            weights[h, i, j] = exp((scores[h, i, j]" +
         more +
         " - best[h, i]) * 0.125)\n"
         "            P[h, i, j] = weights[h, i, j]\n"
         "        total[h, i] = 0\n"
         "        for j in range(" +
         end +
         "):\n"
         "            total[h, i] += weights[h, i, j]\n"
         "        for d in range(D):\n"
         "            acc[h, i, d] = 0\n"
         "            for j in range(" +
         end +
         "):\n"
         "                acc[h, i, d] += f32(P[h, i, j]) * f32(V[h, j, d])\n"
         "            out[h, i, d] = acc[h, i, d] / total[h, i]\n";
}

/// Blocks of 64 rows and 64 keys, which are quick to interpret.
const std::string kBlocks =
    "distribute(S8.d); distribute(S4.j); distribute(S0.j); distribute(S0.i); distribute(S0.h)\n"
    "fuse(S2.h, S3.h); fuse(S2.h, S4.h); fuse(S2.h, S5.h); fuse(S2.h, S6.h); fuse(S2.h, S7.h)\n"
    "fuse(S2.h, S8.h); fuse(S2.h, S9.h); fuse(S2.h, S10.h)\n"
    "fuse(S2.i, S3.i); fuse(S2.i, S4.i); fuse(S2.i, S5.i); fuse(S2.i, S6.i); fuse(S2.i, S7.i)\n"
    "fuse(S2.i, S8.i); fuse(S2.i, S9.i); fuse(S2.i, S10.i)\n"
    "split(S3.i, 64); distribute(S3.i.1)\n"
    "split(S3.j, 64); split(S4.j, 64); split(S5.j, 64); split(S7.j, 64); split(S9.j, 64)\n"
    "reorder(S3.j.0, S3.i.1, S3.j.1); reorder(S4.j.0, S4.i.1, S4.j.1)\n"
    "reorder(S5.j.0, S5.i.1, S5.j.1); reorder(S7.j.0, S7.i.1, S7.j.1)\n"
    "reorder(S9.j.0, S9.i.1, S9.d, S9.j.1)\n"
    "online(S3.j.0, S4.j.0, S5.j.0, S7.j.0, S9.j.0); compute_at(S1, S3.j.0)\n"
    "store_at(best, S3.i.0); store_at(total, S3.i.0); store_at(acc, S3.i.0)\n"
    "bind(S3.h, block.y); bind(S3.i.0, block.x)\n"
    "tensorize(S1.i, wgmma.m64n64k16.bf16); tensorize(S9.i.1, wgmma.m64n64k16.bf16)\n"
    "pipeline(S3.j.0, 2)";

void expect_same(const Line& line, const Sizes& sizes) {
  EXPECT_EQ(line.broken, std::vector<std::string>{});
  ASSERT_TRUE(has_async_op(line.kernel.body)) << print(line.kernel);
  const auto worst = gpu_line::difference(line, sizes, 7);
  ASSERT_TRUE(worst) << worst.error() << "\n" << print(line.kernel);
  EXPECT_LE(*worst, 1e-2) << print(line.kernel);
}

TEST(ChainGroups, attention_stays_in_registers) {
  const Sizes sizes = {{"H", 1}, {"N", 128}, {"D", 64}};
  const Line line = compile(attention("N"), kBlocks, sizes);
  expect_same(line, sizes);
  const std::string text = print(line.kernel);
  EXPECT_EQ(text.find("workspace"), std::string::npos);
  EXPECT_NE(text.find("acc_part += P_part[0] * V_tiles"), std::string::npos);
  EXPECT_NE(text.find("scores_part = Q_tiles"), std::string::npos);
}

TEST(ChainGroups, blocks_may_end_anywhere_and_rows_may_see_what_is_before_them) {
  const Sizes sizes = {{"H", 1}, {"N", 100}, {"D", 40}};
  expect_same(compile(attention("i + 1"), kBlocks, sizes), sizes);
}

TEST(ChainGroups, tiles_of_a_block_follow_each_other_without_a_gap) {
  const Sizes sizes = {{"H", 3}, {"N", 128}, {"D", 16}};
  using Case = std::pair<std::string, int64_t>;
  for (const auto& [end, blocks] : {Case{"N", 4}, Case{"i + 1", 2}}) { // some have no second tile
    const Line line = compile(attention(end), kBlocks, sizes, true, blocks);
    expect_same(line, sizes);
    EXPECT_NE(print(line.kernel).find("total_before"), std::string::npos) << print(line.kernel);
  }
}

TEST(ChainGroups, no_block_has_the_last_tile_of_every_row) {
  const Sizes sizes = {{"H", 3}, {"N", 100}, {"D", 16}};
  const Line line = compile(attention("N"), kBlocks, sizes, true, 2);
  expect_same(line, sizes);
  EXPECT_NE(print(line.kernel).find("+ turn) % 2"), std::string::npos) << print(line.kernel);
}

TEST(ChainGroups, four_groups_share_keys_where_three_leave_more_rows_empty) {
  const Sizes sizes = {{"H", 2}, {"N", 200}, {"D", 16}};
  const Line line = compile(attention("N"), "auto", sizes, true, 1);
  expect_same(line, sizes);
  EXPECT_NE(print(line.kernel).find("thread_z < 16"), std::string::npos) << print(line.kernel);
}

TEST(ChainGroups, elements_that_a_row_does_not_see_are_left_out_once) {
  const Sizes sizes = {{"H", 1}, {"N", 128}, {"D", 16}};
  const std::string text = print(compile(attention("i + 1"), kBlocks, sizes).kernel);
  EXPECT_NE(text.find("scores_part[0], -inf)"), std::string::npos) << text;
  EXPECT_EQ(text.find("P_part[0]), 0.0)"), std::string::npos) << text;
}

TEST(ChainGroups, the_last_keys_of_a_tile_are_those_of_its_last_rows) {
  // Two groups of rows, of which the first has no keys in the last step of a tile.
  const Sizes sizes = {{"H", 1}, {"N", 200}, {"D", 136}};
  const Line line = compile(attention("i + 1"), "auto", sizes, true, 1);
  expect_same(line, sizes);
  const std::string text = print(line.kernel);
  EXPECT_NE(text.find("thread_z < 8"), std::string::npos) << text;
  EXPECT_NE(text.find("K_tiles: bf16[2, 3, 64, 64]"), std::string::npos) << text;
}

TEST(ChainGroups, rows_may_have_one_block_of_keys) {
  // Windows of images have 49 positions, and texts are short: nothing is corrected between blocks.
  for (const std::string end : {"N", "i + 1"})
    for (const Sizes& sizes :
         {Sizes{{"H", 2}, {"N", 49}, {"D", 32}}, Sizes{{"H", 2}, {"N", 16}, {"D", 8}},
          Sizes{{"H", 1}, {"N", 100}, {"D", 24}}}) {
      const Line line = compile(attention(end), "auto", sizes);
      expect_same(line, sizes);
      EXPECT_EQ(print(line.kernel).find("workspace"), std::string::npos) << print(line.kernel);
    }
}

TEST(ChainGroups, a_block_may_have_several_tiles_of_one_step) {
  for (const std::string end : {"N", "i + 1"}) {
    const Sizes sizes = {{"H", 5}, {"N", 20}, {"D", 16}};
    expect_same(compile(attention(end), "auto", sizes, true, 2), sizes);
  }
}

TEST(ChainGroups, one_tile_of_rows_may_have_two_blocks_of_keys) {
  // The second block of keys begins at row 64 of the only tile.
  const Sizes sizes = {{"H", 2}, {"N", 104}, {"D", 136}};
  const Line line = compile(attention("i + 1"), "auto", sizes, true, 1);
  expect_same(line, sizes);
  EXPECT_NE(print(line.kernel).find("thread_z < 8"), std::string::npos) << print(line.kernel);
}

TEST(ChainGroups, one_block_of_rows_and_keys_is_left_to_others) {
  const Sizes sizes = {{"H", 1}, {"N", 49}, {"D", 32}};
  const Line line = compile(attention("N"), "auto", sizes);
  EXPECT_EQ(line.broken, std::vector<std::string>{});
  EXPECT_NE(print(line.kernel).find("workspace"), std::string::npos) << print(line.kernel);
  const auto worst = gpu_line::difference(line, sizes, 7);
  ASSERT_TRUE(worst) << worst.error();
  EXPECT_LE(*worst, 1e-2);
}

TEST(ChainGroups, scores_may_meet_another_tensor) {
  const Sizes sizes = {{"H", 1}, {"N", 72}, {"D", 16}};
  expect_same(compile(attention("N", "fast", " + bias[i, j]"), kBlocks, sizes), sizes);
}

TEST(ChainGroups, default_schedules_find_them) {
  using Case = std::pair<std::string, Sizes>;
  for (const auto& [end, sizes] : {Case{"N", {{"H", 3}, {"N", 1000}, {"D", 64}}},
                                   Case{"i + 1", {{"H", 2}, {"N", 130}, {"D", 256}}}}) {
    const Line line = compile(attention(end), "auto", sizes);
    EXPECT_EQ(line.broken, std::vector<std::string>{});
    EXPECT_TRUE(has_async_op(line.kernel.body)) << print(line.kernel);
    EXPECT_EQ(print(line.kernel).find("workspace"), std::string::npos);
  }
}

TEST(ChainGroups, one_head_has_a_constant_index) {
  // What leaving out loops of one iteration makes of a single head.
  const std::string text =
      "param N, D\nnumerics fast\n"
      "input Q: bf16[1, N, D], K: bf16[1, N, D], V: bf16[1, N, D]\noutput out: bf16[1, N, D]\n"
      "temp scores: f32[1, N, N], weights: f32[1, N, N], P: bf16[1, N, N]\n"
      "temp best: f32[1, N], total: f32[1, N], acc: f32[1, N, D]\nassume N >= 1\n"
      "scores[0, i, j] = sum(d, f32(Q[0, i, d]) * f32(K[0, j, d]))\n"
      "best[0, i] = max(j, scores[0, i, j])\n"
      "weights[0, i, j] = exp((scores[0, i, j] - best[0, i]) * 0.125)\n"
      "P[0, i, j] = weights[0, i, j]\ntotal[0, i] = sum(j, weights[0, i, j])\n"
      "acc[0, i, d] = sum(j, f32(P[0, i, j]) * f32(V[0, j, d]))\n"
      "out[0, i, d] = acc[0, i, d] / total[0, i]\n";
  const Line line = compile(text, "auto", {{"N", 1000}, {"D", 64}});
  EXPECT_EQ(line.broken, std::vector<std::string>{});
  EXPECT_TRUE(has_async_op(line.kernel.body)) << print(line.kernel);
  EXPECT_EQ(print(line.kernel).find("workspace"), std::string::npos)
      << "the scores stay in registers";
}

TEST(ChainGroups, an_infinity_that_a_row_does_not_see_must_not_count) {
  const Sizes sizes = {{"H", 64}, {"N", 4096}, {"D", 128}};
  const auto is_one_pass = [&](const std::string& end) {
    const Line line = compile(attention(end, "rounding"), "auto", sizes);
    const std::string text = print(line.kernel);
    const bool is_chain = text.find("acc_part += P_part") != std::string::npos;
    EXPECT_EQ(text.find("workspace") != std::string::npos, !is_chain) << "scores in memory";
    return is_chain;
  };
  EXPECT_TRUE(is_one_pass("N"));
  EXPECT_FALSE(is_one_pass("i + 1"));
}

TEST(ChainGroups, rows_that_miss_a_block_have_another_schedule) {
  // Position i sees those before it: in the last block of a tile its first row sees nothing.
  const Line line = compile(attention("i"), "auto", {{"H", 2}, {"N", 512}, {"D", 64}});
  EXPECT_EQ(print(line.kernel).find("best_factor"), std::string::npos);
  const Line whole = compile(attention("i + 1"), "auto", {{"H", 2}, {"N", 512}, {"D", 64}});
  EXPECT_NE(print(whole.kernel).find("best_factor"), std::string::npos) << print(whole.kernel);
}

/// What the interpreter says of the kernel without the statements that `is_left_out` picks.
template <class F> std::string chain_without(F is_left_out, uint64_t seed) {
  const Sizes sizes = {{"H", 1}, {"N", 128}, {"D", 64}};
  Line line = compile(attention("N"), kBlocks, sizes);
  line.kernel.body = rewrite(line.kernel.body, [&](Stmt stmt) {
    const auto* async_op = std::get_if<AsyncOp>(&stmt);
    return async_op != nullptr && is_left_out(*async_op) ? Block{} : block_of(std::move(stmt));
  });
  const auto worst = gpu_line::difference(line, sizes, seed);
  return worst ? "" : worst.error();
}

TEST(ChainGroups, every_wait_that_is_left_out_is_found) {
  const auto waits_at = [](uint32_t row) {
    return [row](const AsyncOp& s) {
      const auto* wait = std::get_if<AwaitPhase>(&s.what);
      return wait != nullptr && wait->at.row == row;
    };
  };
  // Rows of barriers: full and empty of Q, of K, of V. With an even seed what was asked for first
  // comes first, so that only the last box can be missing.
  using Case = std::pair<uint32_t, uint64_t>;
  for (const auto& [full, seed] : {Case{0, 3}, Case{2, 4}, Case{4, 4}})
    EXPECT_NE(chain_without(waits_at(full), seed).find("is read before it is written"),
              std::string::npos)
        << full;
  const auto is_early_wait = [](const AsyncOp& s) {
    const auto* wait = std::get_if<AwaitMma>(&s.what);
    return wait != nullptr && wait->pending != 0;
  };
  EXPECT_NE(chain_without(is_early_wait, 3), "");
}

} // namespace
} // namespace kawara::kernel
