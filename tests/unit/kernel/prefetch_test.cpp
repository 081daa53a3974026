#include "unit/kernel/line.h"

namespace kawara {
namespace {

using line::compile;

std::string optimised(const std::string& text, const std::string& directives) {
  return kernel::print(kernel::optimise(compile(text, directives).kernel, line::test_cpu()));
}

constexpr const char* kPanels = R"(input A: f32[40, 96], B: f32[30, 96, 16]
inout C: f32[30, 40, 16]
for j in range(30):
    for i in range(40):
        for k in range(96):
            for l in range(16):
                C[j, i, l] += A[i, k] * B[j, k, l]
)";

TEST(PrefetchPanel, AsksForAllOfItOnceWhileTheOneBeforeIsUsed) {
  const std::string text =
      optimised(kPanels, "vectorize(l, 4); unroll(l); prefetch(B, j); parallel(j)");
  // 1536 elements in 40 parts: 48 elements from i to i, one from k to k.
  EXPECT_NE(text.find("prefetch B[j * 1536 + k + i * 48 + 1536]"), std::string::npos) << text;
}

/// Blocks of 512 and 488 steps: how many of them whole groups of four are is known in the run.
constexpr const char* kCutPanels = R"(input A: f32[5, 1000], B: f32[3, 1000, 16]
inout C: f32[3, 5, 16]
for j in range(3):
    for i in range(5):
        for k in range(1000):
            for l in range(16):
                C[j, i, l] += A[i, k] * B[j, k, l]
)";
constexpr const char* kOfBlocks = "split(k, 512); reorder(k.0, j, i, k.1, l); unroll(k.1, 4); "
                                  "vectorize(l, 4); unroll(l); prefetch(B, j)";

TEST(PrefetchPanel, IsSharedByIterationsOfUnequalBlocks) {
  const std::string text = optimised(kCutPanels, kOfBlocks);
  // 8192 elements in 5 parts of whole lines: 1648; one line in four steps.
  const size_t asked = text.find("i * 1648");
  ASSERT_NE(asked, std::string::npos) << text;
  EXPECT_LT(text.rfind("prefetch B", asked), asked) << text;
  EXPECT_EQ(text.find("i * 1648", asked + 1), std::string::npos)
      << "one line for all four steps, none in the steps that are left\n"
      << text;
}

TEST(PrefetchPanel, OfUnequalBlocksChangesNoResult) {
  const auto line = compile(kCutPanels, kOfBlocks);
  EXPECT_EQ(line::difference(line.program, kernel::optimise(line.kernel, line::test_cpu()), {}),
            "");
}

/// Six rows, and the four that are left, in code of their own.
constexpr const char* kLastTile = R"(input A: f32[10, 96], B: f32[96, 64]
inout C: f32[10, 64]
for i in range(10):
    for j in range(64):
        for k in range(96):
            C[i, j] += A[i, k] * B[k, j]
)";
constexpr const char* kOfPackedPanels =
    "split(j, 16); split(i, 6); reorder(j.0, i.0, k, i.1, S0.j.1); pack(B); "
    "vectorize(S0.j.1, 4); unroll(S0.j.1); unroll(i.1); prefetch(B_packed, S0.j.0)";

TEST(PrefetchPanel, IsSharedByTheLastTile) {
  const std::string text = optimised(kLastTile, kOfPackedPanels);
  // 1536 elements, half of them in each tile: 768.
  const size_t first = text.find("prefetch B_packed[j_0 * 1536 + k * 8 + 1536]");
  const size_t second = text.find("prefetch B_packed[j_0 * 1536 + k * 8 + 2304]");
  EXPECT_NE(first, std::string::npos) << text;
  EXPECT_NE(second, std::string::npos) << text;
  EXPECT_EQ(second, text.rfind("prefetch B_packed")) << text;
}

TEST(PrefetchPanel, SharedByTheLastTileChangesNoResult) {
  const auto line = compile(kLastTile, kOfPackedPanels);
  EXPECT_EQ(line::difference(line.program, kernel::optimise(line.kernel, line::test_cpu()), {}),
            "");
}

TEST(PrefetchPanel, FewLinesAreAskedForAtTheStart) {
  const std::string text = optimised(kPanels, "vectorize(l, 4); unroll(l); prefetch(C, i)");
  EXPECT_NE(text.find("prefetch C[j, i + 1, 0]"), std::string::npos) << text;
  EXPECT_EQ(text.find("prefetch C"), text.rfind("prefetch C")) << text;
}

TEST(PrefetchPanel, ChangesNoResult) {
  const auto line = compile(kPanels, "vectorize(l, 4); unroll(l); prefetch(B, j); prefetch(A, i)");
  EXPECT_EQ(line::difference(line.program, kernel::optimise(line.kernel, line::test_cpu()), {}),
            "");
}

constexpr const char* kTiles = R"(input A: f32[12, 1024], B: f32[4, 1024, 4]
inout C: f32[12, 4, 4]
for i in range(12):
    for j in range(4):
        for k in range(1024):
            for l in range(4):
                C[i, j, l] += A[i, k] * B[j, k, l]
)";
constexpr const char* kOfSixRows = "split(i, 6); reorder(i.0, j, k, i.1, l); vectorize(l, 4); "
                                   "unroll(l); unroll(i.1); prefetch(A, i.0)";

/// Six rows for four tiles: two of them in each, and the last tile those after the six.
TEST(PrefetchPanel, SharesSeveralRowsAmongTheLoopsThatUseThemAgain) {
  const std::string text = optimised(kTiles, kOfSixRows);
  EXPECT_NE(text.find("prefetch A[i_0 * 6144 + k + j * 2048 + 6144]"), std::string::npos) << text;
  EXPECT_NE(text.find("prefetch A[i_0 * 6144 + k + j * 2048 + 7168]"), std::string::npos) << text;
}

TEST(PrefetchPanel, OfSeveralRowsChangesNoResult) {
  const auto line = compile(kTiles, kOfSixRows);
  EXPECT_EQ(line::difference(line.program, kernel::optimise(line.kernel, line::test_cpu()), {}),
            "");
}

TEST(PrefetchPanel, OfNestsThatReadOneRowTheBusiestAsks) {
  constexpr const char* kSumsAndRows = R"(input X: f32[64, 1024]
output Y: f32[64, 1024], s: f32[64]
for i in range(64):
    s[i] = 0
    for k in range(1024):
        s[i] += X[i, k]
    for j in range(1024):
        Y[i, j] = exp(X[i, j]) * s[i]
)";
  const std::string text =
      optimised(kSumsAndRows, "vectorize(S1.k, 4); vectorize(S2.j, 4); prefetch(X, S1.i)");
  const size_t asked = text.find("prefetch X");
  ASSERT_NE(asked, std::string::npos) << text;
  EXPECT_GT(asked, text.find("for j")) << text;
  EXPECT_EQ(asked, text.rfind("prefetch X")) << text;
}

constexpr const char* kCopied = R"(input A: f32[96, 128], B: f32[96, 32]
output C: f32[128, 32]
temp P: f32[8, 96, 16]
C[i, l] = 0
for b in range(8):
    for k in range(96):
        for r in range(16):
            P[b, k, r] = A[k, b * 16 + r]
    for l in range(32):
        for k in range(96):
            for r in range(16):
                C[b * 16 + r, l] += P[b, k, r] * B[k, l]
)";

TEST(PrefetchCopied, AsksForTheNextBlockWhileThisOneIsUsed) {
  const std::string text =
      optimised(kCopied, "vectorize(S1.r, 4); unroll(S1.r); unroll(S2.r); prefetch(A, S1.b)");
  const size_t asked = text.find("prefetch A[k, b * 16 + 16]");
  EXPECT_NE(asked, std::string::npos) << text;
  EXPECT_GT(asked, text.find("P[")) << "not where it is copied" << text;
  EXPECT_EQ(text.find("prefetch A"), text.rfind("prefetch A")) << "one line for all rows" << text;
}

TEST(PrefetchCopied, ChangesNoResult) {
  const auto line = compile(kCopied, "unroll(S1.r); unroll(S2.r); prefetch(A, S1.b)");
  EXPECT_EQ(line::difference(line.program, kernel::optimise(line.kernel, line::test_cpu()), {}),
            "");
}

constexpr const char* kRowsApart = R"(input A: f32[24, 96], B: f32[96, 256]
output C: f32[24, 256]
C[i, j] = 0
for t in range(8):
    for i in range(24):
        for k in range(96):
            for l in range(32):
                C[i, t * 32 + l] += A[i, k] * B[k, t * 32 + l]
)";

TEST(PrefetchRows, AsksInEveryRowForTheNextColumns) {
  const std::string text = optimised(kRowsApart, "vectorize(l, 4); unroll(l); prefetch(B, S1.t)");
  const size_t first = text.find("prefetch B[k, t * 32 + 32]");
  const size_t second = text.find("prefetch B[k, t * 32 + 48]");
  EXPECT_NE(first, std::string::npos) << text;
  EXPECT_NE(second, std::string::npos) << text;
  EXPECT_GT(first, text.find("for k")) << "in the loop that walks through the rows" << text;
  EXPECT_EQ(second, text.rfind("prefetch B")) << "two lines of each row" << text;
}

TEST(PrefetchRows, ChangesNoResult) {
  const auto line =
      compile(kRowsApart, "vectorize(l, 4); unroll(l); unroll(k, 4); prefetch(B, S1.t)");
  EXPECT_EQ(line::difference(line.program, kernel::optimise(line.kernel, line::test_cpu()), {}),
            "");
}

TEST(PaddedTile, IsNotForResultsThatAreMadeOfResults) {
  const auto line = compile(R"(inout A: i32[5]
for i in range(0, 3):
    for j in range(0, min(3, i + 2)):
        for k in range(0, 2):
            A[j] max= 2 * A[k] + 0
)",
                            "unroll(j)");
  EXPECT_EQ(line::difference(line.program, kernel::optimise(line.kernel, line::test_cpu()), {}),
            "");
}

} // namespace
} // namespace kawara
