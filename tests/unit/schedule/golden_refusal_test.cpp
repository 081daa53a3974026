#include "unit/schedule/programs.h"

namespace kawara::schedule {
namespace {

TEST(GoldenRefusal, interchange_of_jacobi) {
  EXPECT_EQ(message(kJacobi, "interchange(t, i)"), R"(
error[K0203]: cannot interchange loops `t` and `i` of statement S0

  test.kw:4:5
   3 | for t in range(T):
   4 |     for i in range(1, N - 1):
     |     ^^^^^^^^^^^^^^^^^^^^^^^^^ would become the outer loop
   5 |         A[t + 1, i] = A[t, i - 1] + A[t, i] + A[t, i + 1]

  S0 at (t=0, i=2) writes A[1, 2]; S0 at (t=1, i=1) reads that value.
  As written, the write runs first. After the interchange `i` leads, so
  (i=1, t=1) runs before (i=2, t=0) and the read finds the old value.

  dependence: write before read, distance (t +1, i -1), whenever T >= 2 and N >= 4

  help: skew first:         skew(i, by=t, factor=1); interchange(t, i)     checked: legal
  help: or block only `i`:  tile(i=32)                                     checked: legal
)");
}

TEST(GoldenRefusal, parallel_prefix_sum) {
  EXPECT_EQ(message(kPrefixSum, "parallel(i)"), R"(
error[K0204]: cannot run loop `i` of statement S0 in parallel

  test.kw:3:1
   2 | inout s: f32[N]
   3 | for i in range(1, N):
     | ^^^^^^^^^^^^^^^^^^^^^ would run in parallel
   4 |     s[i] = s[i - 1] + s[i]

  S0 at (i=1) writes s[1]; S0 at (i=2) reads that value.
  As written, the write runs first. With `i` in parallel (i=1) and (i=2) run
  at the same time, so the read may find the old value.

  dependence: write before read, distance (i +1), whenever N >= 3

  help: no legal alternative was found
)");
}

TEST(GoldenRefusal, tiling_a_stencil_without_skewing) {
  EXPECT_EQ(message(kJacobi, "tile(t=32, i=32)"), R"(
error[K0203]: cannot tile loops `t` and `i` of statement S0

  test.kw:4:5
   3 | for t in range(T):
   4 |     for i in range(1, N - 1):
     |     ^^^^^^^^^^^^^^^^^^^^^^^^^ tiles of this loop would run in the wrong order
   5 |         A[t + 1, i] = A[t, i - 1] + A[t, i] + A[t, i + 1]

  S0 at (t=0, i=32) writes A[1, 32]; S0 at (t=1, i=31) reads that value.
  As written, the write runs first. After the tiling `i.0` leads, so
  (t.0=0, i.0=0, t.1=1, i.1=31) runs before (t.0=0, i.0=1, t.1=0, i.1=0) and
  the read finds the old value.

  dependence: write before read, distance (t +1, i -1), whenever T >= 2 and N >= 34

  help: skew first:        skew(i, by=t, factor=1); tile(t=32, i=32)     checked: legal
  help: or tile only `i`:  tile(i=32)                                    checked: legal
  help: or tile only `t`:  tile(t=32)                                    checked: legal
)");
}

TEST(GoldenRefusal, fusing_with_a_consumer_that_reads_ahead) {
  EXPECT_EQ(message(kAhead, "fuse(S0.i, S1.i)"), R"(
error[K0203]: cannot fuse loops `S0.i` and `S1.i`

  test.kw:7:1
   6 |     y[i] = x[i] * 2
   7 | for i in range(N - 1):
     | ^^^^^^^^^^^^^^^^^^^^^^ would become one loop with `S0.i`
   8 |     z[i] = y[i + 1]

  S0 at (i=1) writes y[1]; S1 at (i=0) reads that value.
  As written, the write runs first. After the fusion both run in one loop `i`,
  so S1 at (i=0) runs before S0 at (i=1) and the read finds the old value.

  dependence: write before read, whenever N >= 2

  help: shift first:            shift(S1.i, 1); fuse(S0.i, S1.i)                     checked: legal
  help: or reverse both first:  [reverse(S0.i); reverse(S1.i)]; fuse(S0.i, S1.i)     checked: legal
)");
}

TEST(GoldenRefusal, reversing_a_recurrence) {
  EXPECT_EQ(message(kPrefixSum, "reverse(i)"), R"(
error[K0203]: cannot reverse loop `i` of statement S0

  test.kw:3:1
   2 | inout s: f32[N]
   3 | for i in range(1, N):
     | ^^^^^^^^^^^^^^^^^^^^^ would run backwards
   4 |     s[i] = s[i - 1] + s[i]

  S0 at (i=1) writes s[1]; S0 at (i=2) reads that value.
  As written, the write runs first. After the reversal `i` runs backwards, so
  (i=2) runs before (i=1) and the read finds the old value.

  dependence: write before read, distance (i +1), whenever N >= 3

  help: no legal alternative was found
)");
}

TEST(GoldenRefusal, imperfect_nest_names_what_stands_between) {
  EXPECT_EQ(message(kGemm, "interchange(j, k)"), R"(
error[K0210]: cannot interchange loops `j` and `k`

  test.kw:6:9
   5 |     for j in range(N):
   6 |         C[i, j] = 0
     |         ^^^^^^^^^^^ stands between `j` and `k`
   7 |         for k in range(K):

  Only loops of a perfect nest can change places: here `S0` stands between `j`
  and `k`.

  help: distribute first:  distribute(j); interchange(S1.j, S1.k)     checked: legal
)");
}

} // namespace
} // namespace kawara::schedule
