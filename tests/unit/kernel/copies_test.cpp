#include "unit/kernel/line.h"

// Tensors that directives gave one copy per iteration of a loop: which of them need a single copy.

namespace kawara {
namespace {

using line::compile;
using line::expect_same;

constexpr const char* kStrips = R"(param H, W
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
const std::vector<std::vector<int64_t>> kSizes = {{1, 1}, {9, 3}, {4, 2}, {33, 5}, {0, 2}};

constexpr const char* kCopiedGemm = R"(param M, N, K
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
const std::vector<std::vector<int64_t>> kCopiedSizes = {{1, 1, 1},   {7, 5, 3},   {16, 24, 8},
                                                        {17, 26, 9}, {12, 8, 16}, {5, 9, 0}};

std::string listing(const char* text, const std::string& directives) {
  return kernel::print(compile(text, directives).kernel);
}

TEST(Copies, ALoopSplitAgainStillNeedsOne) {
  const std::string again = "split(S1.y, 4); compute_at(S0, S1.y.0); split(S1.y.0, 2)";
  expect_same(kStrips, again, kSizes);
  EXPECT_NE(listing(kStrips, again).find("workspace rows: f32[6, W]"), std::string::npos)
      << listing(kStrips, again);
  const std::string apart = again + "; parallel(y.0.0)";
  expect_same(kStrips, apart, kSizes);
  EXPECT_NE(listing(kStrips, apart).find("private rows: f32[6, W]"), std::string::npos)
      << listing(kStrips, apart);
}

TEST(Copies, ALoopThatRunsOnceStillHasItsOwn) {
  const char* text = R"(param H
input image: f32[H, 8]
output out: f32[H, 8]
temp row: f32[H, 8]
for y in range(H):
    for x in range(8):
        row[y, x] = image[y, x] * 2
for y in range(H):
    for x in range(8):
        out[y, x] = row[y, x] + row[y, 7 - x]
)";
  const std::string once = "split(S1.x, 16); compute_at(S0, S1.x.0); parallel(y)";
  expect_same(text, once, {{1}, {9}});
  EXPECT_NE(listing(text, once).find("private row: f32[1, 8]"), std::string::npos)
      << listing(text, once);
}

TEST(Copies, AReversedLoopStillNeedsOne) {
  const std::string back = "split(S1.y, 4); compute_at(S0, S1.y.0); reverse(S1.y.0)";
  expect_same(kStrips, back, kSizes);
  EXPECT_NE(listing(kStrips, back).find("workspace rows: f32[6, W]"), std::string::npos)
      << listing(kStrips, back);
}

TEST(Copies, ReadersThatRunLaterNeedMore) {
  const std::string later = "split(S1.y, 4); compute_at(S0, S1.y.0); shift(S1.y.0, 3)";
  expect_same(kStrips, later, kSizes);
  EXPECT_NE(listing(kStrips, later).find("workspace rows: f32[(H + 3) // 4, H + 2, W]"),
            std::string::npos)
      << listing(kStrips, later);
}

TEST(Copies, ALoopThatIslFoldsAwayNeedsOne) {
  const char* text = R"(input image: f32[10, 5]
output out: f32[8, 5]
temp rows: f32[10, 5]
for y in range(10):
    for x in range(5):
        rows[y, x] = image[y, x] * 2
for y in range(8):
    for x in range(5):
        out[y, x] = rows[y, x] + rows[y + 2, x]
)";
  const std::string once = "split(S1.y, 8); compute_at(S0, S1.y.0)";
  expect_same(text, once, {{}});
  const std::string shown = listing(text, once);
  EXPECT_NE(shown.find("workspace rows: f32[10, 5]"), std::string::npos) << shown;
  EXPECT_EQ(shown.find("y_0"), std::string::npos) << shown;
  const std::string twice = listing(text, "split(S1.y, 4); compute_at(S0, S1.y.0)");
  EXPECT_NE(twice.find("y_0"), std::string::npos) << twice;
}

TEST(Copies, LanesNeedTheirOwn) {
  const char* text = R"(param N
input x: f32[N]
output z: f32[N]
temp y: f32[N]
for i in range(N):
    y[i] = 2 * x[i]
for i in range(N):
    z[i] = y[i] + 1
)";
  const std::string lanes = "compute_at(S0, S1.i); vectorize(S1.i, 4)";
  expect_same(text, lanes, {{1}, {4}, {9}});
  EXPECT_NE(listing(text, lanes).find("workspace y: f32[N, N]"), std::string::npos)
      << listing(text, lanes);
}

TEST(Copies, CoalescedLoopsNeedTheirOwn) {
  const std::string joined = "tile(S1.i=4, S1.j=8); stage(A, S1.j.0); coalesce(S1.i.0, S1.j.0)";
  expect_same(kCopiedGemm, joined, kCopiedSizes);
  expect_same(kCopiedGemm, joined + "; parallel(i.0_j.0)", kCopiedSizes);
}

TEST(Copies, StagedBuffersHoldOneTile) {
  const std::string staged = "tile(S1.i=4, S1.j=8, S1.k=4); reorder(S1.j.0, k.0, S1.i.0, S1.i.1, "
                             "k.1, S1.j.1); stage(B, k.0, panel=1, width=4); stage(A, S1.i.0)";
  expect_same(kCopiedGemm, staged, kCopiedSizes);
  const std::string shown = listing(kCopiedGemm, staged);
  EXPECT_NE(shown.find("workspace B_staged: f32[2, 4, 4]"), std::string::npos) << shown;
  EXPECT_NE(shown.find("workspace A_staged: f32[4, 4]"), std::string::npos) << shown;
  expect_same(kCopiedGemm, staged + "; parallel(S1.j.0)", kCopiedSizes);
  expect_same(kCopiedGemm, staged + "; parallel(S1.i.0)", kCopiedSizes);
}

TEST(Copies, PackedBuffersAreReadFromEndToEnd) {
  const std::string packed = "tile(S1.i=8, S1.j=12, S1.k=4); split(S1.i.1, 4); split(S1.j.1, 6); "
                             "reorder(S1.j.0, k.0, S1.i.0, S1.j.1.0, S1.i.1.0, k.1, S1.i.1.1, "
                             "S1.j.1.1); pack(B, k.0); pack(A, S1.i.0)";
  expect_same(kCopiedGemm, packed, kCopiedSizes);
  const std::string shown = listing(kCopiedGemm, packed);
  EXPECT_NE(shown.find("A_packed[i_1_0, k_1, i_1_1] * B_packed[j_1_0, k_1, j_1_1]"),
            std::string::npos)
      << shown;
  expect_same(kCopiedGemm, packed + "; unroll(S1.i.1.1); vectorize(S1.j.1.1, 2); parallel(S1.j.0)",
              kCopiedSizes);
}

TEST(Copies, SeparatedFromTheirReadersStayApart) {
  const std::string apart = "split(S1.i, 4); stage(A, S1.i.0); distribute(S1.i.0)";
  expect_same(kCopiedGemm, apart, kCopiedSizes);
  EXPECT_NE(listing(kCopiedGemm, apart).find("workspace A_staged: f32[(M + 3) // 4, 4, K]"),
            std::string::npos)
      << listing(kCopiedGemm, apart);
}

// isl leaves out a loop that runs once and repeats its mark before each part of its body.
TEST(Copies, AreSharedInALoopThatRunsOnce) {
  const char* text = R"(input A: f32[3, 5, 4]
output B: f32[3, 5, 4]
for h in range(3):
    for i in range(5):
        for j in range(4):
            B[h, i, j] = A[h, i, j] * 2
)";
  const std::string once = "split(i, 64); split(j, 64); reorder(i.0, j.0, i.1, j.1); "
                           "stage(A, j.0); parallel(h)";
  expect_same(text, once, {{}});
  const std::string shown = listing(text, once);
  EXPECT_EQ(shown.find("private A_staged"), shown.rfind("private A_staged")) << shown;
}

// Where several loops run once, the marks stand in blocks inside blocks.
TEST(Copies, AreSharedInNestedLoopsThatRunOnce) {
  const char* text = R"(input A: f32[3, 5, 4], C: f32[3, 4]
output B: f32[3, 5, 4]
for h in range(3):
    for i in range(5):
        for j in range(4):
            B[h, i, j] = A[h, i, j] * C[h, j]
)";
  const std::string once = "split(i, 64); split(j, 64); reorder(i.0, j.0, i.1, j.1); "
                           "stage(C, i.0); stage(A, j.0); parallel(h)";
  expect_same(text, once, {{}});
  const std::string shown = listing(text, once);
  EXPECT_EQ(shown.find("private A_staged"), shown.rfind("private A_staged")) << shown;
}

/// A ring of rows, elements in another order, and calls into the cache: the result is the one as
/// written.
TEST(Copies, OtherPlacesHoldTheSameValues) {
  const std::string together = "shift(S1.y, 2); fuse(S0.y, S1.y); ";
  for (const char* more : {"fold(rows, y)", "fold(rows, y, 5)", "fold(rows, y); prefetch(image, y)",
                           "layout(rows, d1, d0)", "layout(rows, d1/4, d0, d1%4); fold(rows, y)"})
    expect_same(kStrips, together + more, kSizes);
  for (const char* alone :
       {"layout(image, d1/2, d0/3, d0%3, d1%2)", "layout(out, d1, d0)",
        "layout(rows, d0/2, d1, d0%2); vectorize(S0.x, 4)", "prefetch(out, S1.y, 3)"})
    expect_same(kStrips, alone, kSizes);
}

// Only the first tile of columns has sums, and so a copy of C. isl would make that copy in front of
// the loop over tiles and leave the sums in it.
TEST(Copies, AnIterationHasOneEvenWhereOnlyTheFirstNeedsIt) {
  const char* text = R"(param N
input B: f32[11, N + 3], C: f32[11, N + 2]
output A: f32[N + 1, N + 1]
for i in range(N + 1):
    for j in range(i + 1):
        A[j, i] = 0
        for k in range(j + 2, 11):
            A[j, i] += B[k, i + 2] * C[k, j + 1]
)";
  const std::string tiles = "split(i, 8); split(j, 9); reorder(i.0, j.0, i.1, j.1); pack(C, j.0)";
  const std::vector<std::vector<int64_t>> sizes = {{0}, {1}, {7}, {8}, {13}, {30}};
  expect_same(text, tiles, sizes);
  for (const char* shared :
       {"; parallel(i.0)", "; parallel(j.0)", "; parallel(i.0); parallel(j.0)"})
    expect_same(text, tiles + shared, sizes);
  const std::string shown = listing(text, tiles + "; parallel(i.0)");
  EXPECT_NE(shown.find("private C_packed: f32[9, 9]"), std::string::npos) << shown;
  expect_same(text, "reverse(i); " + tiles + "; parallel(i.0); reverse(j.0)", sizes);
}

} // namespace
} // namespace kawara
