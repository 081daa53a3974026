#include "unit/poly/scops.h"

// What the judge remembers of dependences: proofs are not made twice, and refusals are never
// remembered away.

namespace kawara::poly {
namespace {

using scalar::int_lit;
using scalar::iter;

/// Too few operations for any proof.
constexpr unsigned long kNothing = 1;

bool is_undecided(const Verdict& verdict) { return std::holds_alternative<Undecided>(verdict); }

Expr tile(const Expr& e) { return scalar::binary(scalar::BinaryOp::FloorDiv, e, int_lit(8)); }
Expr place(const Expr& e) { return scalar::binary(scalar::BinaryOp::Mod, e, int_lit(8)); }

TEST(ProofCache, AProofIsNotMadeTwice) {
  const Scop scop = scop_of(kJacobi);
  const Order skewed = with_rows(scop, {iter(0), iter(0) + iter(1)});
  EXPECT_TRUE(is_undecided(judge(scop, skewed, kNothing)));
  EXPECT_TRUE(is_legal(judge(scop, skewed)));
  EXPECT_TRUE(is_legal(judge(scop, skewed, kNothing)));
  // Copies know it too; other orders have to be proved.
  const Scop copy = scop;
  EXPECT_TRUE(is_legal(judge(copy, skewed, kNothing)));
  EXPECT_TRUE(is_undecided(judge(scop, with_rows(scop, {iter(0) + iter(1), iter(0)}), kNothing)));
}

TEST(ProofCache, WhatRanOutIsNotRemembered) {
  const Scop scop = scop_of(kPrefixSum);
  const Order reversed = with_rows(scop, {int_lit(0) - iter(0)});
  for (unsigned long quota = 1; quota < 100'000; quota *= 2) {
    const Verdict verdict = judge(scop, reversed, quota);
    EXPECT_FALSE(is_legal(verdict)) << quota;
  }
  EXPECT_EQ(illegal_of(judge(scop, reversed)).element, (std::vector<int64_t>{1}));
}

TEST(ProofCache, MarksAreQuestionsOfTheirOwn) {
  const Scop scop = scop_of(R"(param N
inout A: i32[N + 4]
for i in range(N):
    A[i + 4] = A[i]
)");
  const LoopId loop = path_of(scop.source_order, StmtId{0})[0];
  const auto marked = [&](bool is_parallel, int64_t width) {
    Order order = scop.source_order;
    order[loop].marks.is_parallel = is_parallel;
    order[loop].marks.vector_width = width;
    return order;
  };
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_TRUE(is_legal(judge(scop, marked(false, 0))));
    EXPECT_TRUE(is_legal(judge(scop, marked(false, 4))));
    EXPECT_EQ(illegal_of(judge(scop, marked(false, 8))).broken, Broken::Vector);
    EXPECT_EQ(illegal_of(judge(scop, marked(true, 0))).broken, Broken::Parallel);
    EXPECT_EQ(illegal_of(judge(scop, marked(true, 4))).broken, Broken::Parallel);
  }
}

TEST(ProofCache, ContractsAreQuestionsOfTheirOwn) {
  Scop scop = scop_of(R"(param N
input x: f32[N]
inout s: f32
for i in range(N):
    s += x[i]
)");
  const Order reversed = with_rows(scop, {int_lit(0) - iter(0)});
  const Verdict allowed = judge(scop, reversed);
  ASSERT_TRUE(is_legal(allowed));
  EXPECT_TRUE(std::get<Legal>(allowed).reassociates);
  const Verdict again = judge(scop, reversed, kNothing);
  ASSERT_TRUE(is_legal(again));
  EXPECT_TRUE(std::get<Legal>(again).reassociates);
  scop.numerics = program::Numerics::Exact;
  EXPECT_FALSE(is_legal(judge(scop, reversed)));
}

TEST(ProofCache, WhatPairsHaveInCommonNeedsNoNewProof) {
  // The two statements touch one element in one iteration of i and j each: only k decides.
  const Scop scop = scop_of(kGemm);
  const StmtId update{1};
  EXPECT_TRUE(is_legal(judge(scop, scop.source_order)));
  Order tiled = scop.source_order;
  for (uint32_t s = 0; s < 2; ++s) {
    tiled.rows[s][0] = tile(iter(0));
    tiled.rows[s][1] = place(iter(0));
  }
  EXPECT_TRUE(is_legal(judge(scop, tiled, kNothing)));
  tiled.rows[1][2] = tile(iter(2));
  EXPECT_TRUE(is_undecided(judge(scop, tiled, kNothing)));
  Order parallel = scop.source_order;
  const std::vector<LoopId> path = path_of(parallel, update);
  parallel[path[0]].marks.is_parallel = true;
  EXPECT_TRUE(is_legal(judge(scop, parallel, kNothing)));
  parallel[path[2]].marks.is_parallel = true;
  EXPECT_FALSE(is_legal(judge(scop, parallel)));
}

TEST(ProofCache, AChangedStatementHasNothingShown) {
  Scop scop = scop_of(kPrefixSum);
  EXPECT_TRUE(is_legal(judge(scop, scop.source_order)));
  EXPECT_TRUE(is_legal(judge(rebuilt(scop), scop.source_order, kNothing)));
  // s[i] = s[i] alone: other pairs than before.
  scop.statements[0].text.value = scalar::load(0, {iter(0)}, scop.statements[0].text.value.type());
  const Scop changed = rebuilt(scop);
  for (const Dependence& d : changed.dependences)
    for (const Dependence& old : scop.dependences)
      EXPECT_NE(d.shown, old.shown);
}

} // namespace
} // namespace kawara::poly
