#include "poly/from_program/bounds.h"
#include "poly/legality/legality.h"
#include "poly/scop.h"

#include <gtest/gtest.h>

namespace kawara::poly {
namespace {

TEST(Undecided, BoundsSayThatNothingWasProved) {
  const auto program = program::parse(make_source("t.kw", "param N\n"
                                                          "input x: f32[N]\n"
                                                          "output y: f32[N]\n"
                                                          "y[i] = x[i]\n"));
  ASSERT_TRUE(program);
  const auto scop = scop_from_program(*program, make_context());
  ASSERT_TRUE(scop);
  const Diagnostic d = undecided_analysis(*scop);
  EXPECT_EQ(d.code, "K0174");
  EXPECT_EQ(d.severity, Severity::Error);
  EXPECT_EQ(d.headline, "could not prove that every access stays inside its tensor");
}

TEST(Undecided, JudgeDoesNotGuessWhenItsQuotaIsSpent) {
  const auto program = program::parse(make_source("t.kw", "param N\n"
                                                          "inout x: f32[N]\n"
                                                          "for i in range(1, N):\n"
                                                          "    x[i] = x[i - 1]\n"));
  ASSERT_TRUE(program);
  const auto scop = scop_from_program(*program, make_context());
  ASSERT_TRUE(scop);
  EXPECT_TRUE(std::holds_alternative<Undecided>(judge(*scop, scop->source_order, 1)));
  EXPECT_TRUE(std::holds_alternative<Legal>(judge(*scop, scop->source_order)));
}

TEST(Judge, SaysWhenVectorsReorderASum) {
  const auto program = program::parse(make_source("t.kw", "param N\n"
                                                          "input x: f32[N]\n"
                                                          "inout s: f32\n"
                                                          "for i in range(N):\n"
                                                          "    s += x[i]\n"));
  ASSERT_TRUE(program);
  const auto scop = scop_from_program(*program, make_context());
  ASSERT_TRUE(scop);
  const auto reassociates = [&](const Order& order) {
    const Verdict verdict = judge(*scop, order);
    return std::get<Legal>(verdict).reassociates;
  };
  EXPECT_FALSE(reassociates(scop->source_order));
  Order vector = scop->source_order;
  vector.loops.front().marks.vector_width = 4;
  EXPECT_TRUE(reassociates(vector));
}

} // namespace
} // namespace kawara::poly
