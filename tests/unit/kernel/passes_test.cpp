#include "kernel/analysis/ranges.h"
#include "kernel/loops/collapse.h"
#include "unit/kernel/line.h"

namespace kawara {
namespace {

using line::compile;

constexpr const char* kPassedGemm = R"(param M, N, K
input A: f32[M, K], B: f32[K, N]
output C: f32[M, N]
for i in range(M):
    for j in range(N):
        C[i, j] = 0
for i in range(M):
    for j in range(N):
        for k in range(K):
            C[i, j] += A[i, k] * B[k, j]
)";

std::string after(const char* text, const std::string& directives, std::string_view wanted) {
  std::string result;
  kernel::optimise(compile(text, directives).kernel, line::test_cpu(),
                   [&](std::string_view pass, const kernel::Kernel& k) {
                     if (pass == wanted)
                       result = kernel::print(k);
                   });
  return result;
}

size_t occurrences(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

// What a workspace held before its first store was never written.
TEST(Promote, DoesNotReadAWorkspaceThatNobodyHasWritten) {
  const std::string text = after(R"(inout A: i32[1, 1]
inout B: i32[3, 2]
inout C: i32[2]
for i in range(0, 2):
    for j in range(0, 2):
        for k in range(0, 2):
            B[i + 1, i] = 0
        B[j, j] = C[j] + 0
)",
                                 "stage(C, S0.j); fuse(S0.k, d0)", "promote");
  EXPECT_EQ(text.find("= C_staged[0]"), std::string::npos) << text;
}

// A condition above the loops says that they run: nothing old is needed, not even to be put back.
TEST(Promote, KnowsTheConditionsAbove) {
  line::expect_same(R"(param N
inout A: i64[3]
for i in range(2, -1, -2):
    for j in range(0, N):
        for k in range(0, N - 1):
            A[i] = 0
)",
                    "pad(A, d0, to=2); promote(A_padded, k)", {{0}, {1}, {2}, {5}});
}

// So does a loop above: inside it, the bounds that they share are apart.
TEST(Promote, KnowsThatTheLoopsAboveRun) {
  line::expect_same(R"(output B: f64[4], C: f64[4, 4]
for i in range(3, -1, -1):
    B[i] = 1
    for j in range(0, i):
        for k in range(0, i):
            C[i, i] = 0
)",
                    "split(k, 4); promote(C, k.0)", {{}});
}

TEST(Promote, KeepsARegisterTileOverTheReduction) {
  const std::string text =
      after(kPassedGemm,
            "tile(S1.i=4, S1.j=8); reorder(S1.i.0, S1.j.0, S1.k, S1.i.1, S1.j.1); "
            "unroll(S1.i.1); vectorize(S1.j.1, 4)",
            "promote");
  // Four rows of two vectors: loaded and stored once, updated in the loop.
  const std::string full = text.substr(0, text.find("else:"));
  EXPECT_EQ(occurrences(full, ": f32x4 = C["), 8U) << text;
  EXPECT_EQ(occurrences(full, "] = C_element"), 8U) << text;
}

TEST(Promote, KeepsTheTileOverBothLoopsOfASplitReduction) {
  const std::string text = after(kPassedGemm, "split(S1.k, 16)", "promote");
  // The inner loop is known to run, so the element is loaded once above both.
  EXPECT_EQ(occurrences(text, "= C[i, j]"), 1U) << text;
  EXPECT_EQ(occurrences(text, "if 0 < "), 1U) << text;
}

TEST(Promote, ReadsNoValueThatIsReplacedFirst) {
  const char* text = R"(param N
inout A: f64[N, N]
temp w: f64
for i in range(N):
    for j in range(i):
        w = A[i, j]
        A[i, j] = w * 2
    for j in range(i, N):
        w = A[i, j]
        A[i, j] = w * 3
)";
  line::expect_same(text, "", {{1}, {4}});
}

TEST(Promote, LeavesElementsThatAnotherAccessMayTouch) {
  const std::string text = after(R"(param N
inout x: f32[N]
input p: i32
for i in range(N):
    for j in range(N):
        x[i] += x[j]
)",
                                 "", "promote");
  EXPECT_EQ(occurrences(text, "x_element"), 0U) << text;
}

TEST(Promote, SeesThatTriangularAccessesAreApart) {
  const std::string text = after(R"(param N
inout L: f64[N, N]
for i in range(N):
    for j in range(i):
        for k in range(j):
            L[i, j] -= L[i, k] * L[j, k]
)",
                                 "", "promote");
  EXPECT_EQ(occurrences(text, "let L_element"), 1U) << text;
}

TEST(SeparateTiles, TestsAllLoopsOfATileOnce) {
  const std::string text = after(kPassedGemm, "tile(S1.i=4, S1.j=8)", "separate_tiles");
  EXPECT_EQ(occurrences(text, "if M - i_0 * 4 >= 4 and N - j_0 * 8 >= 8:"), 1U) << text;
  EXPECT_EQ(occurrences(text, "for j_1 in range(0, 8):"), 1U) << text;
}

constexpr const char* kRegisterTile =
    "tile(S1.i=4, S1.j=8); reorder(S1.i.0, S1.j.0, S1.k, S1.i.1, S1.j.1); unroll(S1.i.1); "
    "vectorize(S1.j.1, 4)";

TEST(PartialTile, KeepsSmallerTilesInRegisters) {
  const std::string text = after(kPassedGemm, kRegisterTile, "promote");
  // Full; full rows of one vector and of one element; one row of eight elements, one vector, one
  // element.
  EXPECT_EQ(occurrences(text, "for k in range(0, K):"), 6U) << text;
  EXPECT_EQ(occurrences(text, "] += "), 0U) << text;
  line::expect_same(kPassedGemm, kRegisterTile, {{3, 5, 2}, {4, 9, 3}, {9, 8, 2}, {11, 14, 3}});
}

TEST(PartialTile, KeepsTheOrderOfExactPrograms) {
  const std::string exact = "numerics exact\n" + std::string(kPassedGemm);
  const std::string text = after(exact.c_str(), kRegisterTile, "promote");
  EXPECT_EQ(occurrences(text, "for k in range(0, K):"), 2U) << text;
}

TEST(SeparateTiles, FindsTheFullTilesOfATriangle) {
  const char* triangle = R"(param N, K
input A: f32[K, N]
inout C: f32[N, N]
for i in range(N):
    for j in range(i + 1, N):
        for k in range(K):
            C[i, j] += A[k, i] * A[k, j]
)";
  const std::string directives = "tile(i=4, j=4); reorder(i.0, j.0, k, i.1, j.1); unroll(i.1); "
                                 "vectorize(j.1, 4)";
  const std::string text = after(triangle, directives, "promote");
  // Off the diagonal the tile stays in registers over k: the worst row is the last one.
  EXPECT_EQ(occurrences(text, "let C_element"), 4U) << text;
  const auto [program, kernel] = compile(triangle, directives);
  const kernel::Kernel passed = kernel::optimise(kernel, line::test_cpu());
  for (const int64_t n : {1, 3, 4, 9, 18})
    EXPECT_EQ(line::difference(program, passed, {n, 5}), "") << n;
}

TEST(PaddedTile, NeedsTheSameEdgeForTheWholeReduction) {
  const char* moving = R"(param M, N
input A: f32[M, M], B: f32[M, N]
inout C: f32[M, N]
for i in range(M):
    for j in range(N):
        for k in range(i):
            C[k, j] += B[i, j] * A[i, k]
)";
  const std::string directives =
      "split(k, 4); split(j, 2); reorder(k.0, j.0, i, j.1, k.1); pack(A, k.0); "
      "pack(B, j.0); unroll(S0.j.1); vectorize(S0.k.1, 4)";
  line::expect_same(moving, directives, {{1, 1}, {5, 2}, {11, 5}, {12, 4}});
}

TEST(PaddedTile, AlsoWhereTheTestStandsFurtherOut) {
  const char* text = R"(param N
input A: f32[16, 128], B: f32[128, N], x: f32[16]
output C: f32[16, N]
temp T: f32[16, N]
for i in range(16):
    for j in range(N):
        T[i, j] = 0
        for k in range(128):
            T[i, j] += A[i, k] * B[k, j]
for i in range(16):
    for j in range(N):
        C[i, j] = max(T[i, j] + x[i], 0)
)";
  const std::string listing = after(text, "auto", "separate_tiles");
  const std::string partial = listing.substr(listing.rfind("else:"));
  EXPECT_EQ(occurrences(partial, "private T_tile: f32[8, 12]:"), 1U) << partial;
  EXPECT_EQ(occurrences(partial, "# unroll"), 3U) << "zeros and sums of the whole tile\n"
                                                  << partial;
  line::expect_same(text, "auto", {{5}, {29}});
}

TEST(Vectorize, TakesTheRestOfAKnownLoopInWholeRegistersAndOnePart) {
  const char* text = "input A: f32[14], B: f32[7]\noutput C: f32[14], D: f32[7]\n"
                     "C[i] = A[i] * 2\nD[i] = B[i] * 2\n";
  const std::string listing = after(text, "vectorize(S0.i, 8); vectorize(S1.i, 16)", "vectorize");
  EXPECT_EQ(occurrences(listing, "ramp(0, 1, 8)"), 2U) << listing;
  EXPECT_EQ(occurrences(listing, "ramp(8, 1, 4)"), 2U) << listing;
  EXPECT_EQ(occurrences(listing, "ramp(12, 1, 2)"), 2U) << listing;
  EXPECT_EQ(occurrences(listing, "ramp(0, 1, 4)"), 2U) << "shorter than one vector\n" << listing;
  EXPECT_EQ(occurrences(listing, "ramp(4, 1, 3)"), 2U) << "and than one register\n" << listing;
  line::expect_same(text, "vectorize(S0.i, 8); vectorize(S1.i, 16)", {{}});
}

TEST(Vectorize, WritesOutFewVectorsOfLongFormulas) {
  const auto has_loop = [](const std::string& value) {
    const std::string listing =
        after(("input A: f32[32]\noutput B: f32[32]\nB[i] = " + value + "\n").c_str(),
              "vectorize(i, 4)", "vectorize");
    return occurrences(listing, "for i") == 1;
  };
  EXPECT_FALSE(has_loop("A[i] * 2"));
  EXPECT_TRUE(has_loop("exp(A[i])")) << "eight times a formula is long code for nothing";
}

TEST(Unroll, ByAFactorKeepsARest) {
  const std::string text = after(kPassedGemm, "unroll(S0.j, 4)", "unroll");
  EXPECT_EQ(occurrences(text, "let j_rest: i64 = max(N, 0) // 4 * 4") +
                occurrences(text, "let j_rest: i64 = N // 4 * 4"),
            1U)
      << text;
  EXPECT_EQ(occurrences(text, "C[i, j + 3] = 0.0"), 1U) << text;
}

TEST(Vectorize, ReducesLanesOnceAfterTheLoop) {
  const std::string text = after(kPassedGemm, "vectorize(S1.k, 4)", "vectorize");
  EXPECT_EQ(occurrences(text, "C[i, j] += reduce_sum("), 1U) << text;
  EXPECT_EQ(occurrences(text, "let C_lanes"), 4U) << text;
}

TEST(Vectorize, SumsInLanesBesideOtherElementsOfTheSameTensor) {
  const char* triangular = R"(param N
inout L: f64[N, N]
for i in range(N):
    for j in range(i):
        for k in range(j):
            L[i, j] -= L[i, k] * L[j, k]
)";
  const std::string text = after(triangular, "vectorize(k, 4)", "vectorize");
  EXPECT_EQ(occurrences(text, "L[i, j] += reduce_sum("), 1U) << text;
  const auto [program, kernel] = compile(triangular, "vectorize(k, 4)");
  EXPECT_EQ(line::difference(program, kernel::optimise(kernel, line::test_cpu()), {15}), "");
}

TEST(Vectorize, KeepsSumsOutOfLanesWhereAnIterationReadsTheElement) {
  const std::string text = after(R"(param N
inout x: f64[N]
assume N >= 20
for k in range(8, 20):
    x[8] += x[k]
)",
                                 "vectorize(k, 4)", "vectorize");
  EXPECT_EQ(occurrences(text, "x_lanes"), 0U) << text;
}

TEST(Vectorize, ComputesBothArmsOfASelect) {
  const char* relu = R"(param N
input A: f32[N + 1], S: f32[N]
inout B: f32[N]
for j in range(N):
    B[j] = select(A[j] > 0, A[j], A[j + 1])
for j in range(N):
    B[j] = select(S[j] > 0, B[j] + 1, S[j])
)";
  const std::string directives = "vectorize(S0.j, 4); vectorize(S1.j, 4)";
  const std::string text = after(relu, directives, "vectorize");
  EXPECT_EQ(occurrences(text, "B[ramp(j, 1, 4)] = select(A_value"), 1U) << text;
  // B[j] is read only where it is chosen, but written in any case.
  EXPECT_EQ(occurrences(text, "B[ramp(j, 1, 4)] = select(S_value"), 1U) << text;
  line::expect_same(relu, directives, {{0}, {3}, {4}, {11}});
}

// That all elements of a full tile exist is what the condition above it says, not the loops: the
// last tile ends behind the row.
TEST(Vectorize, ComputesBothArmsInFullTiles) {
  const std::string choice = R"(input A: bool[100], S: f32[100], T: f32
output B: f32[100]
for j in range(100):
    B[j] = select(A[j], S[j], T)
)";
  const std::string directives = "split(j, 16); vectorize(j.1, 4)";
  const std::string text = after(choice.c_str(), directives, "vectorize");
  EXPECT_EQ(occurrences(text, "= select(A[ramp("), 5U)
      << text << "four vectors of a full tile, one of the last";
  EXPECT_EQ(occurrences(text, ", T)"), 0U) << text;
  line::expect_same(choice, directives, {{}});
}

TEST(Vectorize, ReadsNoElementOfAnArmThatNoIterationNeedsToTouch) {
  const char* chosen = R"(param N
input S: f32[N]
inout B: f32[N], C: f32[N + 1]
for j in range(N):
    B[j] = select(S[j] > 0, C[j + 1], S[j])
    C[j] = S[j]
)";
  const std::string directives = "vectorize(j, 4)";
  const std::string text = after(chosen, directives, "vectorize");
  EXPECT_EQ(occurrences(text, "B[j + 3] = select(S[j + 3] > 0.0, C[j + 4], S[j + 3])"), 1U) << text;
}

TEST(Hoist, DefinesEndsAndDivisionsOnce) {
  const char* text = R"(param H, W
input A: f32[8, W]
output B: f32[H, W]
for y in range(H):
    for x in range(W):
        B[y, x] = A[y // 3 % 8, x]
)";
  std::string result;
  kernel::optimise_for_text(compile(text, "split(x, 32)").kernel,
                            [&](std::string_view pass, const kernel::Kernel& k) {
                              if (pass == "hoist")
                                result = kernel::print(k);
                            });
  EXPECT_EQ(occurrences(result, "let fixed: i64 = y // 3 % 8"), 1U) << result;
  EXPECT_EQ(occurrences(result, "A[fixed, "), 1U) << result;
  EXPECT_EQ(occurrences(result, "for x_1 in range(0, x_1_end):"), 1U) << result;
  EXPECT_EQ(occurrences(result, "for x_0 in range(0, x_0_end):"), 1U) << result;
  line::expect_same(text, "split(x, 32)", {{0, 3}, {5, 1}, {9, 70}});
}

TEST(JoinLoops, LeavesVectorLoopsAlone) {
  const auto copy = [](int64_t outer_width, int64_t inner_width) {
    kernel::Kernel made = compile("param N, M\ninput A: f32[N, M]\noutput B: f32[N, M]\n"
                                  "for i in range(N):\n    for j in range(M):\n"
                                  "        B[i, j] = A[i, j]\n")
                              .kernel;
    auto& outer = std::get<kernel::For>(made.body[0]);
    outer.joins_child = true;
    outer.marks.vector_width = outer_width;
    std::get<kernel::For>(outer.body[0]).marks.vector_width = inner_width;
    return kernel::print(kernel::collapse(made));
  };
  EXPECT_EQ(occurrences(copy(0, 0), "for "), 1U) << copy(0, 0);
  EXPECT_EQ(occurrences(copy(0, 4), "for "), 2U) << copy(0, 4);
  EXPECT_EQ(occurrences(copy(4, 0), "for "), 2U) << copy(4, 0);
}

TEST(JoinLoops, PartialTilesInsideStayTiles) {
  constexpr const char* kText = R"(input A: f32[24, 6, 8]
const W: f32[28, 24]
inout C: f32[28, 6, 8]
for m in range(28):
    for o in range(6):
        for j in range(8):
            for k in range(24):
                C[m, o, j] += A[k, o, j] * W[m, k]
)";
  const std::string tiles = "split(m, 12); reorder(m.0, o, k, j, m.1); pack(W); unroll(S0.j); "
                            "vectorize(S0.m.1, 4); unroll(S0.m.1)";
  const std::string apart = after(kText, tiles, "separate_tiles");
  const std::string joined = after(kText, tiles + "; coalesce(S0.m.0, S0.o)", "separate_tiles");
  EXPECT_EQ(occurrences(joined, "let m_0"), 1U) << joined;
  EXPECT_EQ(occurrences(apart, "private C_tile"), 2U) << "12 filters, and the last 4" << apart;
  EXPECT_EQ(occurrences(joined, "private C_tile"), 1U) << joined;
  line::expect_same(kText, tiles + "; coalesce(S0.m.0, S0.o)", {{}});
}

TEST(JoinLoops, TheLoopIsNamedAfterBoth) {
  const std::string text = after(R"(param M, N
input A: f32[M, N]
output B: f32[M, N]
for i in range(M):
    for j in range(N):
        B[i, j] = 2 * A[i, j]
)",
                                 "coalesce(i, j)", "collapse");
  EXPECT_EQ(occurrences(text, "for i_j in range(0, M * N)"), 1U) << text;
  EXPECT_EQ(occurrences(text, "let i: i64 = i_j // N"), 1U) << text;
  EXPECT_EQ(occurrences(text, "let j: i64 = i_j % N"), 1U) << text;
}

TEST(Prepare, LeavesALoopWithTheVariablesThatItAddsTo) {
  // Sums of a constant, all of them in variables over k: the loop reads constants alone, but its
  // sums are defined before it.
  const std::string text = "const W: f32[9, 8]\ninput X: f32[8]\noutput Y: f32[8]\ntemp s: f32[8]\n"
                           "for j in range(8):\n    s[j] = 0.0\n"
                           "for k in range(9):\n    for j in range(8):\n        s[j] += W[k, j]\n"
                           "for j in range(8):\n    Y[j] = X[j] * s[j]\n";
  line::expect_same(text, "vectorize(S0.j, 4); unroll(S0.j); vectorize(S1.j, 4); unroll(S1.j)",
                    {{}});
}

TEST(Ranges, ProvesThatPointLoopsRun) {
  using scalar::int_lit, scalar::param, scalar::var;
  kernel::For tiles, points;
  tiles.var = 0;
  tiles.lo = int_lit(0);
  tiles.hi = scalar::binary(scalar::BinaryOp::FloorDiv, param(0) + int_lit(255), int_lit(256));
  points.var = 1;
  points.lo = int_lit(0);
  points.hi = scalar::binary(scalar::BinaryOp::Min, int_lit(256), param(0) - var(0) * int_lit(256));
  kernel::Ranges ranges;
  EXPECT_FALSE(ranges.runs_at_least_once(points));
  EXPECT_FALSE(ranges.runs_at_least_once(tiles));
  ranges.enter(tiles);
  EXPECT_TRUE(ranges.runs_at_least_once(points));
  EXPECT_TRUE(ranges.runs_at_least_once(tiles)) << "who is inside";
}

} // namespace
} // namespace kawara
