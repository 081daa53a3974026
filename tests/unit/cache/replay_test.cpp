#include "cache/replay.h"

#include "estimate/accesses.h"
#include "kernel/memory/prepare.h"
#include "unit/estimate/loops.h"

#include <gtest/gtest.h>

namespace kawara::cache {
namespace {

kernel::Kernel kernel_of(const std::string& text, const std::string& directives = "") {
  return kernel::prepare(estimate::loops_of(text, directives).kernel);
}

/// 32 KiB and 1 MiB before the memory.
estimate::Machine small_machine() {
  estimate::Machine machine;
  machine.levels = {{"L1", 32 << 10, {}, {}, {}, {}},
                    {"L2", 1 << 20, {}, {}, {}, {}},
                    {"memory", 0, {}, {}, {}, {}}};
  return machine;
}

std::vector<double> together(const kernel::Kernel& kernel, const std::vector<int64_t>& params) {
  const auto replayed = replay(kernel, params, small_machine(), caches_of_sizes(small_machine()));
  EXPECT_TRUE(replayed) << render(replayed.error());
  std::vector<double> bytes;
  for (const estimate::ReplayedLevel& level : replayed->levels)
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

TEST(Replay, OfACopyMovesEachElementOnceThroughEveryLevelAndFetchesWhatIsStored) {
  const double array = 4.0 * 1024 * 1024;
  EXPECT_EQ(together(kernel_of(kCopied), {1024}),
            (std::vector<double>{2 * array, 3 * array, 3 * array}));
}

TEST(Replay, FindsInTheSecondCallWhatFits) {
  const double array = 4.0 * 256 * 256; // two are half of the L2
  EXPECT_EQ(together(kernel_of(kCopied), {256}), (std::vector<double>{2 * array, 3 * array, 0}));
}

/// Columns of 1040 lines need 65 KiB: each element that is stored has its line go out again. Tiles
/// keep 16 lines, but not where rows are a power of two apart: all sixteen are of one set then.
TEST(Replay, SeesLinesThatAreGoneTooEarly) {
  const double elements = 1040 * 1040;
  const std::vector<double> plain = together(kernel_of(kTransposed), {1040});
  EXPECT_EQ(plain[0], 8 * elements);
  EXPECT_NEAR(plain[1], 4 * elements + 2 * 64 * elements, 0.01 * plain[1]) << "in and out again";
  const kernel::Kernel tiled = kernel_of(kTransposed, "tile(S0.i=16, S0.j=16)");
  EXPECT_LT(together(tiled, {1040})[1], 1.1 * 12 * elements);
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
  const auto replayed = replay(kernel, {}, small_machine(), caches_of_sizes(small_machine()));
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
  const auto replayed = replay(kernel, {}, small_machine(), caches_of_sizes(small_machine()));
  ASSERT_TRUE(replayed);
  EXPECT_EQ(replayed->assumed, 1);
  EXPECT_EQ(replayed->accesses, 1 + 16);
}

TEST(Replay, RefusesAnIndexFromMemory) {
  auto kernel = kernel_of("input A: f32[8], P: i64[8]\noutput B: f32[8]\nB[i] = A[i] + P[i]\n");
  const auto place = scalar::load(1, {scalar::int_lit(0)}, {scalar::Elem::I64, 1});
  kernel.body = kernel::block_of(kernel::Store{
      2, {place}, scalar::ReduceOp::None, scalar::float_lit(1, {scalar::Elem::F32, 1})});
  const auto replayed = replay(kernel, {}, small_machine(), caches_of_sizes(small_machine()));
  ASSERT_FALSE(replayed);
  EXPECT_EQ(replayed.error().code, "K0457");
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
  estimate::Machine machine = estimate::described_machine(*target::named_cpu("neoverse-n1"));
  machine.levels = small_machine().levels;
  for (estimate::Level& level : machine.levels)
    level.triad = {1, 1};
  const auto replayed = replay(kernel, {}, machine, caches_of_sizes(machine));
  ASSERT_TRUE(replayed);
  const estimate::Prediction predicted = estimate::predict({}, kernel, {}, machine, 1);
  for (const size_t k : {size_t{1}, size_t{2}}) {
    const estimate::ReplayedLevel& level = replayed->levels[k];
    // Of what came in, half are lines of Y, which are fetched before they are stored to.
    EXPECT_NEAR((level.read / 2 + level.written) / predicted.levels[k].bytes, 1, 0.02)
        << level.name;
  }
}

} // namespace
} // namespace kawara::cache
