// Schedules that `auto` makes for machines with more cores than this one, compared with the
// interpreter.

#include "driver/pipeline.h"
#include "driver/session.h"

#include "program/interpret/interpret.h"

#include <gtest/gtest.h>

namespace kawara::driver {
namespace {

struct Results {
  program::Arrays got, expected;
  double allowed = 0;
};

/// The program with the schedule for that many cores, whose L2 has `cache` bytes.
Results results_on(const std::string& text, int64_t cores, int64_t cache,
                   program::Numerics numerics = program::Numerics::Rounding) {
  schedule::Environment environment = host_environment();
  environment.cpu.cores = cores;
  environment.cpu.caches.l2 = cache;
  Request request{make_source("program", text), make_source("schedule", "auto"), {}, {}};
  request.numerics = numerics;
  Trace silent;
  auto compiled = compile(request, environment, silent);
  EXPECT_TRUE(compiled);
  if (!compiled)
    return {};
  const program::Program& program = compiled->front.program;
  auto inputs = inputs_for(program, {}, {});
  auto got = call(*compiled, {}, *inputs);
  auto expected = program::interpret(program, {}, *inputs);
  EXPECT_TRUE(got);
  EXPECT_TRUE(expected);
  return {*std::move(got), *std::move(expected), tolerance_of(program, {})};
}

const char* const kProduct = "input A: f32[67, 120]\nconst B: f32[120, 101]\n"
                             "output C: f32[67, 101]\nC[i, j] = sum(k, A[i, k] * B[k, j])\n";
const char* const kBatches = "input A: f32[3, 31, 90], B: f32[3, 90, 70]\n"
                             "output C: f32[3, 31, 70]\n"
                             "C[b, i, j] = relu(sum(k, A[b, i, k] * B[b, k, j]))\n";
const char* const kRow = "input x: f32[1, 300]\nconst W: f32[300, 500]\noutput y: f32[1, 500]\n"
                         "y[i, j] = sum(k, x[i, k] * W[k, j])\n";
const char* const kPooled = R"(input X: f32[3, 43, 43], W: f32[20, 3, 3, 3], scale: f32[20]
output Y: f32[20, 20, 20]
temp conv: f32[20, 41, 41], act: f32[20, 41, 41]
conv[k, y, x] = sum(c, r, s, X[c, y + r, x + s] * W[k, c, r, s])
act[k, y, x] = max(conv[k, y, x] * scale[k], 0.0)
for k in range(20):
    for y in range(20):
        for x in range(20):
            Y[k, y, x] = -inf
            for r in range(3):
                for s in range(3):
                    Y[k, y, x] max= act[k, 2*y + r, 2*x + s]
)";

/// Channels in lanes from the convolution to the pool, whose results are made of what its windows
/// add up.
const char* const kPooledLanes = R"(input X: f32[3, 75, 75]
const W: f32[24, 3, 5, 5], shift: f32[24]
output Y: f32[24, 17, 17]
temp conv: f32[24, 36, 36], act: f32[24, 36, 36]
conv[k, y, x] = sum(c, r, s, X[c, 2*y + r, 2*x + s] * W[k, c, r, s])
act[k, y, x] = relu(conv[k, y, x] + shift[k])
Y[k, y, x] = sum(r in range(3), s in range(3), act[k, 2*y + r, 2*x + s]) * 0.25
)";

/// The rows between two products are made in chunks.
const char* const kInARow = R"(input A: f32[480, 40]
const B: f32[40, 48], D: f32[48, 20], shift: f32[48]
output C: f32[480, 20]
temp S: f32[480, 48], T: f32[480, 48]
S[i, j] = sum(k, A[i, k] * B[k, j])
T[i, j] = relu(S[i, j] + shift[j])
C[i, j] = sum(k, T[i, k] * D[k, j])
)";

TEST(ManyCores, ComputeWhatTheInterpreterComputes) {
  for (const char* text : {kProduct, kBatches, kRow, kPooled, kPooledLanes, kInARow})
    for (const int64_t cores : {1, 2, 5, 16}) {
      const Results results = results_on(text, cores, 64 * 1024);
      const Difference difference = compare(results.got, results.expected);
      EXPECT_LE(difference.worst, results.allowed) << cores << " cores:\n" << text;
    }
}

/// Blocks of the sum in f16, blocks of rows and columns for the threads.
TEST(ManyCores, ShareProductsOfF16) {
  const char* const text = "input A: f16[90, 300]\nconst B: f16[300, 130]\n"
                           "output C: f32[90, 130]\nC[i, j] = sum(k, A[i, k] * B[k, j])\n";
  for (const int64_t cores : {1, 2, 16}) {
    const Results results = results_on(text, cores, 64 * 1024, program::Numerics::Fast);
    EXPECT_LE(compare(results.got, results.expected).worst, results.allowed) << cores;
  }
}

TEST(ManyCores, ChangeNothingUnderExact) {
  for (const int64_t cores : {1, 5, 16}) {
    const Results results = results_on(kProduct, cores, 64 * 1024, program::Numerics::Exact);
    EXPECT_EQ(compare(results.got, results.expected).worst, 0) << cores;
  }
}

} // namespace
} // namespace kawara::driver
