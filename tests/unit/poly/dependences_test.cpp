#include "unit/poly/scops.h"

#include "poly/legality/shown_dependences.h"

namespace kawara::poly {
namespace {

std::string memory_based(const char* text) {
  const Scop scop = scop_of(text);
  return lines_of(scop, scop.dependences);
}

std::string exact(const char* text) {
  const Scop scop = scop_of(text);
  return lines_of(scop, exact_dependences(scop));
}

TEST(Dependences, OfAStencilOverTime) {
  EXPECT_EQ(memory_based(kJacobi), "S0 -> S0 A write before read (+1, -1..+1)\n");
  EXPECT_EQ(exact(kJacobi), "S0 -> S0 A write before read (+1, -1..+1)\n");
}

TEST(Dependences, OfAProductKeepTheReductionApart) {
  EXPECT_EQ(memory_based(kGemm), "S0 -> S1 C write before read (0, 0)\n"
                                 "S0 -> S1 C write before write (0, 0)\n"
                                 "S1 -> S1 C write before read (0, 0, >=1) reduction\n");
  // Only the nearest write counts: the first update reads the initialisation.
  EXPECT_EQ(exact(kGemm), "S0 -> S1 C write before read (0, 0)\n"
                          "S1 -> S1 C write before read (0, 0, +1) reduction\n"
                          "S1 -> S1 C read before write (0, 0, +1) reduction\n"
                          "S0 -> S1 C write before write (0, 0)\n"
                          "S1 -> S1 C write before write (0, 0, +1) reduction\n");
}

constexpr const char* kFrame = R"(param T, N
inout A: f64[N, N], B: f64[N, N]
for t in range(T):
    for i in range(N):
        for j in range(N):
            if i == 0 or i == N - 1 or j == 0 or j == N - 1:
                B[i, j] = A[i, j]
    for i in range(N):
        for j in range(N):
            A[i, j] = B[i, j]
)";

// isl needs minutes for the exact ones of a frame, whose four sides overlap.
TEST(Dependences, OfAFrameAreShownInTime) {
  EXPECT_EQ(exact(R"(param N
output B: f64[N, N]
for i in range(N):
    for j in range(N):
        if i == 0 or i == N - 1 or j == 0 or j == N - 1:
            B[i, j] = 0
)"),
            "");
  const Scop scop = scop_of(kFrame);
  const ShownDependences shown = shown_dependences(scop);
  EXPECT_FALSE(shown.is_exact);
  EXPECT_EQ(lines_of(scop, shown.all), lines_of(scop, scop.dependences));
  const Scop plain = scop_of(kGemm);
  const ShownDependences few = shown_dependences(plain);
  EXPECT_TRUE(few.is_exact);
  EXPECT_EQ(lines_of(plain, few.all), lines_of(plain, exact_dependences(plain)));
}

TEST(Dependences, OfATriangularLoop) {
  EXPECT_EQ(memory_based(R"(param N
inout A: i32[N]
for i in range(N):
    for j in range(i):
        A[i] = A[j] + 1
)"),
            "S0 -> S0 A write before read (>=1, >=1)\n"
            "S0 -> S0 A write before write (0, >=1)\n");
}

TEST(Dependences, OfAStridedLoopCountItsSteps) {
  EXPECT_EQ(memory_based(R"(param N
inout A: i32[2 * N + 2]
for i in range(0, 2 * N, 2):
    A[i + 2] = A[i] + A[i + 1]
)"),
            "S0 -> S0 A write before read (+1)\n");
}

TEST(Dependences, OfADescendingLoopFollowItsDirection) {
  // i falls, so the write of A[i] comes before the read of A[i] at i - 1.
  const Scop scop = scop_of(R"(param N
inout A: i32[N + 1]
for i in range(N - 1, -1, -1):
    A[i] = A[i + 1]
)");
  ASSERT_EQ(scop.dependences.size(), 1u);
  EXPECT_EQ(scop.dependences[0].kind, DependenceKind::Flow);
  EXPECT_EQ(lines_of(scop, scop.dependences), "S0 -> S0 A write before read (+1)\n");
}

TEST(Dependences, AreNoneWhereElementsNeverMeet) {
  EXPECT_EQ(memory_based(R"(param N
inout A: i32[2 * N]
for i in range(N):
    A[2 * i] = A[2 * i + 1]
)"),
            "");
}

TEST(Dependences, OfFixedSizesKnowThem) {
  const program::Program open = program_of(kPrefixSum);
  const auto two = scop_from_program(program::specialise(open, {2}), make_context());
  ASSERT_TRUE(two);
  EXPECT_TRUE(two->dependences.empty()) << "one iteration depends on nothing";
  const auto three = scop_from_program(program::specialise(open, {3}), make_context());
  ASSERT_TRUE(three);
  EXPECT_EQ(lines_of(*three, three->dependences), "S0 -> S0 s write before read (+1)\n");
}

} // namespace
} // namespace kawara::poly
