#include "unit/kernel/line.h"

#include "kernel/walk.h"

namespace kawara {
namespace {

using line::expect_same;

constexpr const char* kGemm = R"(param M, N, K
input A: f32[M, K], B: f32[K, N]
output C: f32[M, N]
for i in range(M):
    for j in range(N):
        C[i, j] = 0
        for k in range(K):
            C[i, j] += A[i, k] * B[k, j]
)";

constexpr const char* kJacobi = R"(param T, N
inout A: f64[N], B: f64[N]
for t in range(T):
    for i in range(1, N - 1):
        B[i] = (A[i - 1] + A[i] + A[i + 1]) / 3
    for i in range(1, N - 1):
        A[i] = (B[i - 1] + B[i] + B[i + 1]) / 3
)";

const std::vector<std::vector<int64_t>> kGemmSizes = {{0, 3, 4},   {1, 1, 1},   {7, 5, 3},
                                                      {16, 24, 8}, {17, 26, 9}, {5, 9, 0}};

TEST(FromSchedule, GemmInSourceOrder) { expect_same(kGemm, "", kGemmSizes); }

TEST(FromSchedule, GemmTiledForRegisters) {
  expect_same(kGemm,
              "distribute(i); tile(S1.i=4, S1.j=8); reorder(S1.i.0, S1.j.0, S1.k, S1.i.1, S1.j.1); "
              "unroll(S1.i.1); vectorize(S1.j.1, 4)",
              kGemmSizes);
}

TEST(FromSchedule, GemmTiledTwice) {
  expect_same(kGemm,
              "distribute(i); tile(S1.i=8, S1.j=8, S1.k=4); parallel(S1.i.0); "
              "split(S1.i.1, 4); vectorize(S1.k.1, 4)",
              kGemmSizes);
}

TEST(FromSchedule, a_program_without_statements_does_nothing) {
  expect_same("param N\ninout A: f32[N]\n", "", {{0}, {3}});
}

TEST(FromSchedule, JacobiKeepsItsSteps) {
  expect_same(kJacobi, "", {{0, 5}, {3, 2}, {2, 9}});
  expect_same(kJacobi, "vectorize(S0.i, 4); parallel(S1.i)", {{2, 3}, {3, 11}});
  expect_same(kJacobi, "unroll(S0.i, 4); split(S1.i, 4); unroll(S1.i.1)", {{2, 3}, {3, 11}});
}

constexpr const char* kBandedProduct = R"(param N
inout A: f32[N + 2, N + 2]
input B: f32[N, N], C: f32[N, N + 2]
for i in range(0, N):
    for j in range(max(0, 2 * i - 6), min(N + 2, 2 * i + 1)):
        for k in range(1, min(N, i + j + 1)):
            A[j, i + 2] += B[i, k] * C[k, j]
)";

void expect_banded_product(const std::string& directives) {
  const line::Line made = line::compile(kBandedProduct, directives);
  for (int64_t size = 0; size < 20; ++size)
    EXPECT_EQ(line::difference(made.program, made.kernel, {size}), "") << directives << size;
}

/// isl knows the only value of `j.0` for some sizes and leaves the loop out there, in one branch of
/// a condition.
TEST(FromSchedule, CopiesWhereALoopIsLeftOut) {
  for (const char* sizes : {"split(i, 4); split(j, 2)", "split(i, 12); split(j, 3)"})
    for (const char* copied : {"stage(B, j.0)", "stage(C, j.0)"})
      expect_banded_product(std::string(sizes) +
                            "; reorder(i.0, j.0, i.1, j.1, k); parallel(i.0); " + copied);
}

/// Part of an `or` of isl's is 1, which is no comparison.
TEST(FromSchedule, ConditionsThatAlwaysHold) {
  expect_banded_product(
      "split(i, 4); split(j, 7); reorder(i.0, j.0, i.1, j.1, k); parallel(i.0); stage(B, j.0)");
}

TEST(FromSchedule, TriangularLoops) {
  const char* text = R"(param N
input L: f64[N, N], b: f64[N]
output x: f64[N]
for i in range(N):
    x[i] = b[i]
    for j in range(i):
        x[i] += L[i, j] * x[j]
)";
  expect_same(text, "", {{0}, {1}, {7}});
  expect_same(text, "vectorize(j, 4)", {{1}, {9}, {21}});
  expect_same(text, "split(j, 4); unroll(j.1)", {{1}, {9}, {21}});
}

TEST(FromSchedule, StridedAndDescendingLoops) {
  const char* text = R"(param N
input A: f32[N]
output B: f32[N]
for i in range(N - 1, -1, -1):
    B[i] = A[i] * 2
for i in range(0, N, 3):
    B[i] += 1
)";
  expect_same(text, "", {{0}, {1}, {8}, {13}});
  expect_same(text, "vectorize(S0.i, 4); vectorize(S1.i, 4)", {{1}, {13}, {64}});
  expect_same(text, "unroll(S0.i, 2); unroll(S1.i, 4)", {{1}, {13}, {64}});
}

TEST(FromSchedule, LanesStayWithinTheProvedDistance) {
  const char* text = R"(param N
inout A: f32[N + 6]
for i in range(2):
    for j in range(N):
        if (j - i) % 2 == 0:
            A[j + 6] = A[j] + 1
)";
  // A flow dependence at distance 6: four consecutive values are fine, four of every other are not.
  expect_same(text, "vectorize(j, 4)", {{1}, {7}, {16}, {33}});
  EXPECT_NE(kernel::print(line::compile(text, "vectorize(j, 4)").kernel).find("vector(2)"),
            std::string::npos);
  const char* apart = R"(param N
input A: f32[N]
output B: f32[N]
for j in range(N):
    if j % 2 == 0:
        B[j] = A[j] + 1
)";
  expect_same(apart, "vectorize(j, 4)", {{1}, {7}, {16}, {33}});
  EXPECT_NE(kernel::print(line::compile(apart, "vectorize(j, 4)").kernel).find("vector(4)"),
            std::string::npos);
}

TEST(FromSchedule, VectorsOfCoalescedLoops) {
  const char* text = R"(param N
inout A: f32[N + 1, 6]
for i in range(N):
    for j in range(6):
        A[i + 1, j] = A[i, j] + 1
)";
  // The next row is six values away: no vector of four may go on in it.
  expect_same(text, "coalesce(i, j); split(i_j, 4); vectorize(i_j.1, 4)", {{1}, {2}, {5}});
}

TEST(FromSchedule, CoalescedLoopsRunAsOne) {
  const char* text = R"(param N, M
input A: f32[N, M]
output B: f32[N, M]
for i in range(N):
    for j in range(M):
        B[i, j] = A[i, j] + 1
)";
  expect_same(text, "coalesce(i, j); parallel(i_j)", {{0, 4}, {4, 0}, {3, 5}});
}

TEST(FromSchedule, GuardsAndConditions) {
  const char* text = R"(param N
input a: f32[N], b: f32[N]
output c: f32[2*N]
for i in range(N):
    for j in range(N):
        if i + j >= 2:
            c[i + j] += a[i] * b[j]
        else:
            c[i + j] += 1
)";
  expect_same(text, "", {{1}, {2}, {7}});
  expect_same(text, "split(j, 4); vectorize(j.1, 4)", {{1}, {2}, {7}, {12}});
}

TEST(FromSchedule, SerialLoopsShareOneCopy) {
  const char* text = R"(param H, W
input image: f32[H + 2, W]
output out: f32[H, W]
temp rows: f32[H + 2, W]
for y in range(H + 2):
    for x in range(W):
        rows[y, x] = image[y, x] * 2
for y in range(H):
    for x in range(W):
        out[y, x] = rows[y, x] + rows[y + 2, x]
)";
  const std::string serial = "split(S1.y, 4); compute_at(S0, S1.y.0)";
  expect_same(text, serial, {{1, 1}, {9, 3}});
  const auto one = kernel::print(line::compile(text, serial).kernel);
  EXPECT_NE(one.find("workspace rows: f32[6, W]"), std::string::npos) << one;
  EXPECT_NE(one.find("rows[y_1 + 2, x]"), std::string::npos) << one;
  const std::string parallel = serial + "; parallel(y.0)";
  expect_same(text, parallel, {{1, 1}, {9, 3}, {4, 2}, {13, 5}});
  const auto own = kernel::print(line::compile(text, parallel).kernel);
  EXPECT_NE(own.find("private rows: f32[6, W]"), std::string::npos) << own;
  expect_same(text,
              "tile(S1.y=4, S1.x=4); compute_at(S0, S1.x.0); coalesce(y.0, x.0); parallel(y.0_x.0)",
              {{1, 1}, {9, 3}, {7, 13}});
}

TEST(FromSchedule, CopiesThatOtherIterationsReadStay) {
  const char* text = R"(param N
input a: f32[N + 4]
output b: f32[N]
temp t: f32[N + 4]
for i in range(N + 4):
    t[i] = a[i] * 2
for i in range(N):
    b[i] = t[i] + t[i + 4]
)";
  const std::string strips = "split(S1.i, 4); compute_at(S0, S1.i.0)";
  expect_same(text, strips + "; distribute(S1.i.0)", {{1}, {9}, {16}});
  const auto apart = kernel::print(line::compile(text, strips + "; distribute(S1.i.0)").kernel);
  EXPECT_NE(apart.find("workspace t: f32[(N + 3) // 4, N + 4]"), std::string::npos) << apart;
}

TEST(FromSchedule, NamesLoopsAfterTheOrder) {
  const auto made = line::compile(kGemm, "distribute(i); split(S1.i, 4)");
  const std::string text = kernel::print(made.kernel);
  EXPECT_NE(text.find("for i_0 in range(0, (M + 3) // 4):"), std::string::npos) << text;
  EXPECT_NE(text.find("for i_1 in range(0, min(4, M - i_0 * 4)):"), std::string::npos) << text;
}

TEST(FromSchedule, KeepsPiecesWithStridesApart) {
  const char* pieces = R"(output C: i32[24]
for i in range(24):
    C[i] = 0
for i in range(24):
    if i < 2 or i % 2 == 0 and i < 8:
        C[i] = 1
for i in range(24):
    if i % 3 == 1 and i < 6 or i % 3 == 2 and i < 6 or i < 2:
        C[i] += 2
)";
  for (const char* directives : {"", "reverse(S2.i)", "split(S1.i, 4)", "vectorize(S2.i, 4)"})
    line::expect_same(pieces, directives, {{}});
}

TEST(FromSchedule, CopiesAroundStridesOfATensorThatMoves) {
  const char* strided = R"(inout A: i32[2, 2], C: i32[7]
for i in range(0, 2):
    for j in range(0, 5, 3):
        C[j + 1] += C[j + 2] + 0
for i in range(0, 2):
    A[-i + 1, i] = C[i] + 0
)";
  for (const char* directives : {"layout(C, d0/1, d0%1)", "layout(C, d0/2, d0%2)", "pad(C, d0, 1)"})
    line::expect_same(strided, directives, {{}});
}

TEST(FromSchedule, KeepsAPlaceForStatementsThatNeverRun) {
  const char* never = R"(param N
inout A: i32
for i in range(0, 2):
    for j in range(0, N - 1):
        A = 0
        if j + 1 < 1:
            A max= 0
)";
  line::expect_same(never, "cut(j, 2); promote(A, i)", {{1}, {4}});
}

} // namespace
TEST(KernelFromSchedule, ALoopInsideAnotherOfTheSameNameHasItsOwnVariable) {
  line::expect_same(R"(param N
inout A: i32[N]
temp T: i32[N, N]
for i in range(N):
    for j in range(N):
        T[i, j] = i + j
for i in range(N):
    for j in range(N):
        A[j] += 2
)",
                    "interchange(S0.i, S0.j); fuse(S0.j, S1.i)", {{1}, {4}});
}

// Tiles of 2 * i against tiles of j: isl finds some 30 cases, each with a register tile of its own.
TEST(FromSchedule, CasesOfBoundsDoNotMultiplyTheCode) {
  const char* band = R"(param N
numerics exact
inout A: i32[N + 2, N + 2]
input B: i32[N, N], C: i32[N, N + 2]
for i in range(N):
    for j in range(max(0, 2 * i - 6), min(N + 2, 2 * i + 1)):
        for k in range(1, min(N, i + j + 1)):
            A[j, i + 2] += B[i, k] * C[k, j]
)";
  const auto cpu = *target::named_cpu("neoverse-v1");
  const kernel::Kernel loops = line::compile(band, "auto", cpu).kernel;
  size_t stores = 0, lanes = 0;
  kernel::visit(loops.body, [&](const kernel::Stmt& stmt) {
    stores += std::holds_alternative<kernel::Store>(stmt) ? 1 : 0;
    if (const auto* loop = std::get_if<kernel::For>(&stmt))
      lanes += loop->marks.vector_width != 0 ? 1 : 0;
  });
  EXPECT_LE(stores, 4) << kernel::print(loops);
  EXPECT_EQ(lanes, 1) << kernel::print(loops);
  line::expect_same(band, "auto", {{2}, {7}, {12}}, cpu);
}

} // namespace kawara
