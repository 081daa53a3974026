#include "estimate/predict.h"

#include "estimate/boxes.h"
#include "estimate/traffic.h"
#include "kernel/memory/prepare.h"
#include "unit/estimate/loops.h"

#include <gtest/gtest.h>

namespace kawara::estimate {
namespace {

constexpr const char* kCopy = "param N\n"
                              "input A: f32[N, N]\n"
                              "output B: f32[N, N]\n"
                              "for i in range(N):\n"
                              "    for j in range(N):\n"
                              "        B[i, j] = A[i, j] * 2\n";
constexpr const char* kProduct = "param N\n"
                                 "input A: f32[N, N], B: f32[N, N]\n"
                                 "output C: f32[N, N]\n"
                                 "for i in range(N):\n"
                                 "    for j in range(N):\n"
                                 "        C[i, j] = 0\n"
                                 "        for k in range(N):\n"
                                 "            C[i, j] += A[i, k] * B[k, j]\n";

/// 1 KiB of registers, 32 KiB, 1 MiB.
const std::vector<Capacity> kCaches{{1024, 4}, {32 << 10, 64}, {1 << 20, 64}};

std::vector<double> bytes_of(const Predicted& p, int64_t n) {
  std::vector<double> sum(kCaches.size(), 0);
  const std::vector<int64_t> params{n};
  for (const PartCost& part : part_costs(p.kernel, params, kCaches, Pace{}))
    for (size_t k = 0; k < sum.size(); ++k)
      sum[k] += part.bytes[k];
  return sum;
}

/// A constant is packed in the first call; of 4 MiB each, what is packed, the other operand and the
/// result come from memory.
TEST(Traffic, LeavesOutWhatAnEarlierCallPrepared) {
  Predicted product = loops_of("param N\n"
                               "input A: f32[N, N]\n"
                               "const B: f32[N, N]\n"
                               "output C: f32[N, N]\n"
                               "for i in range(N):\n"
                               "    for j in range(N):\n"
                               "        C[i, j] = A[i, j] + B[j, i]\n",
                               "pack(B)");
  const double each = 4.0 * 1024 * 1024, before = bytes_of(product, 1024).back();
  product.kernel = kernel::prepare(std::move(product.kernel));
  ASSERT_EQ(product.kernel.prepared, 1U);
  EXPECT_EQ(bytes_of(product, 1024).back(), 3 * each);
  EXPECT_GE(before, 5 * each);
}

TEST(Traffic, OfACopyIsTheSameEverywhere) {
  const Predicted copy = loops_of(kCopy);
  const double all = 2.0 * 4 * 1024 * 1024;
  EXPECT_EQ(bytes_of(copy, 1024), (std::vector<double>{all, all, all}));
}

TEST(Traffic, OfWhatFitsIsNoneAfterTheFirstCall) {
  // 2 * 64 * 64 * 4 bytes fit into the L2 exactly.
  const std::vector<double> bytes = bytes_of(loops_of(kCopy), 64);
  EXPECT_EQ(bytes[0], 2.0 * 4 * 64 * 64);
  EXPECT_EQ(bytes[1], 0);
  EXPECT_EQ(bytes[2], 0);
}

TEST(Traffic, OfAColumnWalkIsWholeLines) {
  const Predicted walk = loops_of(kCopy, "interchange(i, j)");
  // 4096 rows of a line each are 256 KiB of each tensor: too much for 32 KiB, so each line comes 16
  // times.
  const std::vector<double> bytes = bytes_of(walk, 4096);
  const double all = 2.0 * 4 * 4096 * 4096;
  EXPECT_EQ(bytes[1], 16 * all);
  EXPECT_EQ(bytes[2], all);
}

TEST(Traffic, OfAProductFallsWithTiles) {
  const double n = 1024;
  const std::vector<double> naive = bytes_of(loops_of(kProduct), 1024);
  const std::vector<double> tiled =
      bytes_of(loops_of(kProduct, "distribute(i); tile(S1.i=32, S1.j=32, S1.k=32)"), 1024);
  EXPECT_GT(naive[1], 4 * n * n * n);          // a line for each element of B
  EXPECT_LT(tiled[1], 4 * 3 * n * n * n / 32); // each block of B once for 32 rows
  EXPECT_LT(tiled[1] * 8, naive[1]);
}

TEST(Traffic, CountsArithmeticAndSumsThatWait) {
  const std::vector<int64_t> params{64};
  Pace pace;
  pace.flops = 64e9;
  pace.lanes = 4;
  pace.add_seconds = 2e-9;
  double operations = 0, seconds = 0, fast = 0;
  for (const PartCost& part : part_costs(loops_of(kProduct).kernel, params, kCaches, pace)) {
    operations += part.operations;
    seconds += part.seconds;
  }
  EXPECT_EQ(operations, 2.0 * 64 * 64 * 64);
  EXPECT_GE(seconds, 64.0 * 64 * 64 * 2e-9); // one sum after the other
  const Predicted vectors =
      loops_of(kProduct, "distribute(i); interchange(S1.j, S1.k); vectorize(S1.j, 4)");
  for (const PartCost& part : part_costs(vectors.kernel, params, kCaches, pace))
    fast += part.seconds;
  EXPECT_LT(fast * 4, seconds);
}

/// What is noted says what other peaks give, and at which capacities other bytes come.
TEST(Traffic, NotesWhatOtherFiguresChange) {
  const std::vector<int64_t> params{64};
  const Predicted product =
      loops_of(kProduct, "distribute(i); tile(S1.i=16, S1.j=16, S1.k=16); parallel(S1.i.0)");
  Pace pace;
  pace.flops = 64e9;
  pace.add_seconds = 2e-9;
  CostNotes notes;
  const auto noted = part_costs(product.kernel, params, kCaches, pace, &notes);
  for (const double scale : {0.001, 0.5, 1.0, 3.0}) {
    Pace other = pace;
    other.flops *= scale;
    const auto wanted = part_costs(product.kernel, params, kCaches, other);
    ASSERT_EQ(noted.size(), wanted.size());
    for (size_t k = 0; k < wanted.size(); ++k)
      EXPECT_DOUBLE_EQ(seconds_of(noted[k].arithmetic, scale), wanted[k].seconds) << scale;
  }
  EXPECT_EQ(noted.back().trips, std::vector<double>{4});
  // Between two noted capacities nothing changes, and each line of the tensors fits at the last.
  std::vector<Capacity> steps;
  for (const double bytes : notes.fits.at(64))
    steps.push_back({static_cast<int64_t>(bytes), 64});
  ASSERT_GT(steps.size(), 3U);
  std::vector<Capacity> between = steps;
  for (size_t k = 0; k + 1 < steps.size(); ++k)
    between[k].bytes = steps[k + 1].bytes - 1;
  const auto at = part_costs(product.kernel, params, steps, pace);
  const auto beside = part_costs(product.kernel, params, between, pace);
  for (size_t k = 0; k < at.size(); ++k) {
    EXPECT_EQ(at[k].bytes, beside[k].bytes);
    EXPECT_EQ(at[k].bytes.back(), 0);
  }
}

TEST(Predict, SaysWhatIsInTheWay) {
  const Machine machine = described_machine(*target::named_cpu("neoverse-n1"));
  const std::vector<int64_t> params{4096};
  const Predicted copy = loops_of(kCopy, "vectorize(j, 4)");
  const auto work = count(copy.program, params);
  ASSERT_TRUE(work);
  const Prediction one = predict(*work, copy.kernel, params, machine, 1);
  EXPECT_EQ(one.bound, "memory");
  EXPECT_NEAR(one.seconds, 2.0 * 4 * 4096 * 4096 / machine.levels.back().triad.one, 1e-9);
  const Predicted threads = loops_of(kCopy, "vectorize(j, 4); parallel(i)");
  const Prediction two = predict(*work, threads.kernel, params, machine, 2);
  EXPECT_LT(two.seconds, one.seconds);
  const std::string text = print(one, machine);
  for (const char* part : {"byte/FLOP", "from", "memory", "bound by memory (described figures)"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_NE(to_json(one, machine).find("\"bound\": \"memory\""), std::string::npos);
}

constexpr const char* kByteProduct = "param N\n"
                                     "input A: i8[N, N], B: i8[N, N]\n"
                                     "output C: i32[N, N]\n"
                                     "for i in range(N):\n"
                                     "    for j in range(N):\n"
                                     "        C[i, j] = 0\n"
                                     "        for k in range(N):\n"
                                     "            C[i, j] += A[i, k] * B[j, k]\n";

TEST(Predict, CountsIntegersAndTheirInstructions) {
  Machine machine = described_machine(*target::named_cpu("neoverse-n1"));
  const std::vector<int64_t> params{256};
  const Predicted plain = loops_of(kByteProduct, "distribute(i); vectorize(S0.j, 4)");
  const Predicted dots = loops_of(kByteProduct, "distribute(i); split(S1.j, 8); split(S1.k, 4); "
                                                "reorder(S1.j.0, S1.k.0, S1.i, S1.j.1, S1.k.1); "
                                                "pack(B, S1.j.0); tensorize(S1.j.1, neon.sdot)");
  const auto work = count(plain.program, params);
  ASSERT_TRUE(work);
  const Prediction slow = predict(*work, plain.kernel, params, machine, 1);
  const Prediction vectors = predict(*work, dots.kernel, params, machine, 1);
  EXPECT_LT(vectors.arithmetic_seconds, slow.arithmetic_seconds);
  machine.peaks.push_back({scalar::Elem::I8, "neon.sdot", {320e9, 640e9}});
  const Prediction fast = predict(*work, dots.kernel, params, machine, 1);
  EXPECT_LT(fast.arithmetic_seconds * 2, vectors.arithmetic_seconds);
  const std::string text = print(fast, machine);
  for (const char* part : {"33.55 MOP in 2 statements", "OP/byte", "byte/OP"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_EQ(text.find("FLOP"), std::string::npos) << text;
  const std::string json = to_json(fast, machine);
  for (const char* part : {"\"flops\": 0.0", "\"int_ops\": 33554432.0", "\"type\": \"i8\"",
                           "\"peak\": 320000000000.0"})
    EXPECT_NE(json.find(part), std::string::npos) << json;
}

TEST(Intervals, OfRemaindersAreTight) {
  const scalar::Expr x = scalar::var(0);
  const auto mod = scalar::binary(scalar::BinaryOp::Mod, x, scalar::int_lit(8));
  const auto within = interval_of(mod, {{0, {17, 20}}}, {});
  ASSERT_TRUE(within);
  EXPECT_EQ(within->lo, 1);
  EXPECT_EQ(within->hi, 4);
  const auto around = interval_of(mod, {{0, {6, 9}}}, {});
  ASSERT_TRUE(around);
  EXPECT_EQ(around->lo, 0);
  EXPECT_EQ(around->hi, 7);
  EXPECT_FALSE(interval_of(scalar::var(1), {{0, {0, 1}}}, {}));
}

} // namespace
} // namespace kawara::estimate
