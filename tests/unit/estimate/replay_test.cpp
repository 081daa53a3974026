#include "estimate/replay.h"

#include "estimate/accesses.h"
#include "estimate/caches.h"
#include "kernel/memory/prepare.h"
#include "unit/estimate/loops.h"

#include <gtest/gtest.h>

namespace kawara::estimate {
namespace {

kernel::Kernel kernel_of(const std::string& text, const std::string& directives = "") {
  return kernel::prepare(loops_of(text, directives).kernel);
}

/// 32 KiB and 1 MiB before the memory.
Machine small_machine() {
  Machine machine;
  machine.levels = {{"L1", 32 << 10, {}, {}, {}, {}},
                    {"L2", 1 << 20, {}, {}, {}, {}},
                    {"memory", 0, {}, {}, {}, {}}};
  return machine;
}

std::vector<double> together(const kernel::Kernel& kernel, const std::vector<int64_t>& params) {
  const auto replayed = replay(kernel, params, small_machine());
  EXPECT_TRUE(replayed) << render(replayed.error());
  std::vector<double> bytes;
  for (const ReplayedLevel& level : replayed->levels)
    bytes.push_back(level.read + level.written);
  return bytes;
}

constexpr const char* kCopied = "param N\n"
                                "input A: f32[N, N]\n"
                                "output B: f32[N, N]\n"
                                "for i in range(N):\n"
                                "    for j in range(N):\n"
                                "        B[i, j] = A[i, j] * 2\n";

constexpr const char* kTransposed = "param N\n"
                                    "input A: f32[N, N]\n"
                                    "output B: f32[N, N]\n"
                                    "for i in range(N):\n"
                                    "    for j in range(N):\n"
                                    "        B[j, i] = A[i, j]\n";

TEST(Caches, KeepWhatWasUsedLast) {
  const std::vector<int64_t> bytes{Caches::kWays * 64}; // one set
  Caches caches(bytes, 64);
  for (int64_t line = 0; line < Caches::kWays; ++line)
    caches.load(line * 64, 4);
  caches.load(0, 4); // there
  EXPECT_EQ(caches.moved()[0].read, Caches::kWays * 64);
  caches.load(Caches::kWays * 64, 4); // in the place of line 1
  caches.load(0, 4);
  EXPECT_EQ(caches.moved()[0].read, (Caches::kWays + 1) * 64);
  caches.load(64, 4);
  EXPECT_EQ(caches.moved()[0].read, (Caches::kWays + 2) * 64);
  EXPECT_EQ(caches.moved()[0].written, 0);
}

TEST(Caches, WriteChangedLinesBackOnce) {
  const std::vector<int64_t> bytes{Caches::kWays * 64, Caches::kWays * 4 * 64};
  Caches caches(bytes, 64);
  for (int64_t at = 0; at < 64; at += 4)
    caches.store(at, 4);
  for (int64_t line = 1; line <= Caches::kWays; ++line)
    caches.load(line * 64, 64);
  EXPECT_EQ(caches.moved()[0].written, 64);
  EXPECT_EQ(caches.moved()[1].written, 0) << "the L2 has room for it";
  caches.load(0, 4);
  EXPECT_EQ(caches.moved()[1].read, Caches::kWays * 64) << "and has it";
}

TEST(Caches, DropWhatIsStoredPastThem) {
  const std::vector<int64_t> bytes{32 << 10};
  Caches caches(bytes, 64);
  caches.load(0, 128);
  caches.store_past(0, 64);
  EXPECT_EQ(caches.moved()[0].written, 64);
  caches.load(0, 128);
  EXPECT_EQ(caches.moved()[0].read, 3 * 64);
}

TEST(Replay, OfACopyMovesEachElementOnceThroughEveryLevel) {
  const double all = 2.0 * 4 * 1024 * 1024;
  EXPECT_EQ(together(kernel_of(kCopied), {1024}), (std::vector<double>{all, all, all}));
}

TEST(Replay, FindsInTheSecondCallWhatFits) {
  const double all = 2.0 * 4 * 256 * 256; // half of the L2
  EXPECT_EQ(together(kernel_of(kCopied), {256}), (std::vector<double>{all, all, 0}));
}

/// Columns of 1040 lines need 65 KiB: each element that is stored has its line go out again. Tiles
/// keep 16 lines, but not where rows are a power of two apart: all sixteen are of one set then.
TEST(Replay, SeesLinesThatAreGoneTooEarly) {
  const double elements = 1040 * 1040;
  const std::vector<double> plain = together(kernel_of(kTransposed), {1040});
  EXPECT_EQ(plain[0], 8 * elements);
  EXPECT_EQ(plain[1], 4 * elements + 64 * elements);
  const kernel::Kernel tiled = kernel_of(kTransposed, "tile(S0.i=16, S0.j=16)");
  EXPECT_LT(together(tiled, {1040})[1], 1.1 * 8 * elements);
  EXPECT_GT(together(tiled, {1024})[1], 60.0 * 1024 * 1024);
}

TEST(Replay, LoadsUnderAConditionWhereItHolds) {
  const auto kernel = kernel_of("param N\n"
                                "input A: f32[N]\n"
                                "output B: f32[N + 2]\n"
                                "for i in range(N + 2):\n"
                                "    if 1 <= i < N + 1:\n"
                                "        B[i] = A[i - 1]\n"
                                "    else:\n"
                                "        B[i] = 0\n");
  EXPECT_EQ(together(kernel, {100})[0], 4.0 * (100 + 102));
}

TEST(Replay, CountsALoadThatIsRepeatedOnce) {
  const auto kernel = kernel_of("param N\n"
                                "input A: f32[N]\n"
                                "output B: f32[N]\n"
                                "B[i] = A[i] * A[i] + A[i]\n");
  EXPECT_EQ(together(kernel, {100})[0], 4.0 * 200);
}

TEST(Replay, LeavesOutWhatIsPreparedOnce) {
  const auto kernel = kernel_of("input A: f32[64, 64]\n"
                                "const B: f32[64, 64]\n"
                                "output C: f32[64, 64]\n"
                                "C[i, j] = sum(k, A[i, k] * B[k, j])\n",
                                "pack(B)");
  ASSERT_EQ(kernel.prepared, 1U);
  const auto replayed = replay(kernel, {}, small_machine());
  ASSERT_TRUE(replayed);
  EXPECT_EQ(replayed->accesses, 64 * 64 + 4 * 64 * 64 * 64) << "zeros, then a, b, c and c again";
}

/// `if x[0] > 0` stands for what numerics decide by the data of a row.
TEST(Replay, TakesConditionsOnDataToHold) {
  auto kernel = kernel_of("input A: f32[8]\noutput B: f32[8]\nB[i] = A[i]\n");
  const auto element = scalar::load(0, {scalar::int_lit(0)}, {scalar::Elem::F32, 1});
  kernel::If branch{
      scalar::binary(scalar::BinaryOp::Lt, element, element), std::move(kernel.body), {}};
  kernel.body = kernel::block_of(std::move(branch));
  const auto replayed = replay(kernel, {}, small_machine());
  ASSERT_TRUE(replayed);
  EXPECT_EQ(replayed->assumed, 1);
  EXPECT_EQ(replayed->accesses, 1 + 16);
}

TEST(Replay, RefusesAnIndexFromMemory) {
  auto kernel = kernel_of("input A: f32[8], P: i64[8]\noutput B: f32[8]\nB[i] = A[i] + P[i]\n");
  const auto place = scalar::load(1, {scalar::int_lit(0)}, {scalar::Elem::I64, 1});
  kernel.body = kernel::block_of(kernel::Store{
      2, {place}, scalar::ReduceOp::None, scalar::float_lit(1, {scalar::Elem::F32, 1})});
  const auto replayed = replay(kernel, {}, small_machine());
  ASSERT_FALSE(replayed);
  EXPECT_EQ(replayed.error().code, "K0446");
  EXPECT_NE(render(replayed.error()).find("read from memory"), std::string::npos);
}

/// Rows that pass through fused loops come from memory once, as predicted.
TEST(Replay, AgreesWithThePredictionOfFusedRows) {
  const auto kernel = kernel_of("input X: f32[1024, 1024]\n"
                                "output Y: f32[1024, 1024]\n"
                                "temp total: f32[1024]\n"
                                "total[i] = sum(j, X[i, j])\n"
                                "Y[i, j] = X[i, j] * total[i]\n",
                                "fuse(S0.i, S2.i)");
  Machine machine = described_machine(*target::named_cpu("neoverse-n1"));
  machine.levels = small_machine().levels;
  for (Level& level : machine.levels)
    level.triad = {1, 1};
  const auto replayed = replay(kernel, {}, machine);
  ASSERT_TRUE(replayed);
  const Prediction predicted = predict({}, kernel, {}, machine, 1);
  for (const size_t k : {size_t{1}, size_t{2}}) {
    const ReplayedLevel& level = replayed->levels[k];
    EXPECT_NEAR((level.read + level.written) / predicted.levels[k].bytes, 1, 0.02) << level.name;
  }
}

} // namespace
} // namespace kawara::estimate
