#include "cache/from_program.h"

#include "cache/simulate.h"
#include "program/program.h"
#include "unit/cache/naive.h"

#include <gtest/gtest.h>

namespace kawara::cache {
namespace {

AccessProgram accesses(const std::string& text, const std::vector<int64_t>& sizes) {
  const auto program = program::parse(make_source("t.kw", text));
  EXPECT_TRUE(program);
  auto made = accesses_of_text(*program, sizes, 64);
  EXPECT_TRUE(made);
  return *std::move(made);
}

/// "r A[i]; w B[i]"
std::string references(const AccessProgram& program) {
  std::string text;
  for (const Reference& r : program.references)
    text += (text.empty() ? "" : "; ") +
            std::string(r.kind == Reference::Kind::Write ? "w " : "r ") + r.text;
  return text;
}

TEST(AccessesOfText, ReadsFromLeftToRightThenTheWrite) {
  const AccessProgram program = accesses("param N\n"
                                         "input A: f64[N, N], B: f64[N]\n"
                                         "inout C: f64[N]\n"
                                         "temp t: f64\n"
                                         "for i in range(N):\n"
                                         "    t = 0\n"
                                         "    for j in range(N):\n"
                                         "        t += A[i, j] * B[j]\n"
                                         "    C[i] = B[i] + t * B[i]\n"
                                         "    C[i] += A[i, i]\n",
                                         {4});
  EXPECT_EQ(references(program),
            "r A[i, j]; r B[j]; r B[i]; r B[i]; w C[i]; r C[i]; r A[i, i]; w C[i]")
      << "scalars are in registers";
  EXPECT_EQ(Trace(program, 64).touched.size(), 4 * (4 * 2 + 6));
}

TEST(AccessesOfText, PutsArraysAtLines) {
  const AccessProgram program = accesses("param N\n"
                                         "input A: f32[N], B: f32[N]\n"
                                         "output C: f32[N]\n"
                                         "for i in range(N):\n"
                                         "    C[i] = A[i] + B[i]\n",
                                         {20});
  EXPECT_EQ(program.arrays[1].begin, 128);
  EXPECT_EQ(program.arrays[2].begin, 256);
}

TEST(AccessesOfText, KeepsConditionsOnIndices) {
  const AccessProgram program = accesses("param N\n"
                                         "input A: f32[N]\n"
                                         "output C: f32[N]\n"
                                         "for i in range(N):\n"
                                         "    C[i] = select(i > 0, A[max(i - 1, 0)], 0.0)\n",
                                         {5});
  EXPECT_EQ(Trace(program, 64).touched.size(), 4U + 5U);
  EXPECT_EQ(program.assumed, 0);
}

TEST(AccessesOfText, CountsBothSidesOfAChoiceOnData) {
  const AccessProgram program = accesses("param N\n"
                                         "inout A: f32[N]\n"
                                         "for i in range(N):\n"
                                         "    A[i] = select(A[i] > 0, A[i], 2 * A[i])\n",
                                         {5});
  EXPECT_EQ(program.references.size(), 4U);
  EXPECT_EQ(program.assumed, 1);
}

TEST(AccessesOfText, RefusesIndicesFromData) {
  const auto program = program::parse(make_source("t.kw", "param N\n"
                                                          "input A: f32[N], at: i64[N]\n"
                                                          "output C: f32[N]\n"
                                                          "for i in range(N):\n"
                                                          "    C[i] = A[at[i]]\n"));
  ASSERT_TRUE(program);
  const auto made = accesses_of_text(*program, std::vector<int64_t>{4}, 64);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, "K0457");
}

TEST(AccessesOfText, MissesOfAPublishedProduct) {
  // PolyBench gemm, MEDIUM, under a trace-driven simulator: 42,328,000 accesses, 1,331,500 misses.
  const AccessProgram program = accesses("param NI, NJ, NK\n"
                                         "input C0: f64, A: f64[NI, NK], B: f64[NK, NJ]\n"
                                         "inout C: f64[NI, NJ]\n"
                                         "for i in range(NI):\n"
                                         "    for j in range(NJ):\n"
                                         "        C[i, j] = C[i, j] * C0\n"
                                         "    for k in range(NK):\n"
                                         "        for j in range(NJ):\n"
                                         "            C[i, j] += A[i, k] * B[k, j]\n",
                                         {200, 220, 240});
  Description d;
  d.bytes = 32 << 10;
  d.ways = 8;
  const Simulated made = simulate(program, {d}, false);
  Count all;
  for (const Count& c : made.counts[0].of)
    all += c;
  EXPECT_EQ(made.accesses, 42328000);
  EXPECT_EQ(all.misses(), 1331500);
}

} // namespace
} // namespace kawara::cache
