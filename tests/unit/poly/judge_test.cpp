#include "unit/poly/scops.h"

#include <algorithm>

namespace kawara::poly {
namespace {

using scalar::int_lit;
using scalar::iter;

Expr negated(const Expr& e) { return int_lit(0) - e; }

Scop jacobi() { return scop_of(kJacobi); }

TEST(Judge, AcceptsTheSourceOrder) {
  for (const char* text : {kJacobi, kGemm, kPrefixSum}) {
    const Scop scop = scop_of(text);
    EXPECT_TRUE(is_legal(judge(scop, scop.source_order))) << text;
  }
}

TEST(Judge, AcceptsASkewAndRefusesAnInterchange) {
  const Scop scop = jacobi();
  EXPECT_TRUE(is_legal(judge(scop, with_rows(scop, {iter(0), iter(0) + iter(1)}))));
  // After the skew the loops may change places.
  EXPECT_TRUE(is_legal(judge(scop, with_rows(scop, {iter(0) + iter(1), iter(0)}))));
  const Illegal illegal = illegal_of(judge(scop, with_rows(scop, {iter(1), iter(0)})));
  EXPECT_EQ(illegal.broken, Broken::Order);
  EXPECT_EQ(illegal.params, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(illegal.source, (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(illegal.sink, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(illegal.element, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(illegal.condition, "T >= 2 and N >= 4");
  EXPECT_EQ(illegal.distance, (std::vector<std::string>{"+1", "-1..+1"}));
  EXPECT_TRUE(illegal.parts_at_loop);
  EXPECT_EQ(illegal.loop, path_of(scop.source_order, StmtId{0})[0]);
}

TEST(Judge, RefusesTwoInstancesAtOneTimeThatDepend) {
  const Scop scop = scop_of(kPrefixSum);
  const Illegal illegal = illegal_of(judge(scop, with_rows(scop, {int_lit(0)})));
  EXPECT_EQ(illegal.source, (std::vector<int64_t>{1}));
  EXPECT_EQ(illegal.sink, (std::vector<int64_t>{2}));
  EXPECT_FALSE(illegal.parts_at_loop);
}

TEST(Judge, RefusesAReversedRecurrence) {
  const Scop scop = scop_of(kPrefixSum);
  const Illegal illegal = illegal_of(judge(scop, with_rows(scop, {negated(iter(0))})));
  EXPECT_EQ(illegal.params, (std::vector<int64_t>{3}));
  EXPECT_EQ(illegal.element, (std::vector<int64_t>{1}));
  EXPECT_EQ(illegal.condition, "N >= 3");
}

TEST(Judge, OfParallelLoops) {
  const Scop scop = jacobi();
  const std::vector<LoopId> path = path_of(scop.source_order, StmtId{0});
  Order inner = scop.source_order;
  inner[path[1]].marks.is_parallel = true;
  EXPECT_TRUE(is_legal(judge(scop, inner)));
  Order outer = scop.source_order;
  outer[path[0]].marks.is_parallel = true;
  const Illegal illegal = illegal_of(judge(scop, outer));
  EXPECT_EQ(illegal.broken, Broken::Parallel);
  EXPECT_EQ(illegal.loop, path[0]);
}

TEST(Judge, OfVectorLoopsAsksForTheDistance) {
  const Scop scop = scop_of(R"(param N
inout A: i32[N + 4]
for i in range(N):
    A[i + 4] = A[i] + 1
)");
  Order order = scop.source_order;
  order.loops[path_of(order, StmtId{0})[0].value].marks.vector_width = 4;
  EXPECT_TRUE(is_legal(judge(scop, order)));
  order.loops[path_of(order, StmtId{0})[0].value].marks.vector_width = 8;
  const Illegal illegal = illegal_of(judge(scop, order));
  EXPECT_EQ(illegal.broken, Broken::Vector);
  EXPECT_EQ(illegal.source, (std::vector<int64_t>{0}));
  EXPECT_EQ(illegal.sink, (std::vector<int64_t>{4}));
}

TEST(Judge, LetsLanesReadAheadWithinOneStatement) {
  const Scop scop = scop_of(R"(param N
inout A: i32[N + 1]
for i in range(N):
    A[i] = A[i + 1]
)");
  Order order = scop.source_order;
  order.loops[path_of(order, StmtId{0})[0].value].marks.vector_width = 8;
  EXPECT_TRUE(is_legal(judge(scop, order)));
}

/// The verdict on vectors of four along the loop of S0, which may hand on running values or not.
Verdict of_four_lanes(const std::string& text, bool is_scan) {
  const Scop scop = scop_of(text);
  Order order = scop.source_order;
  Marks& marks = order.loops[path_of(order, StmtId{0})[0].value].marks;
  marks.vector_width = 4;
  marks.is_scan = is_scan;
  return judge(scop, order);
}

TEST(Judge, LetsLanesOfAScanHandOnTheRunningValue) {
  const std::string scan = "param N\ninout s: f32[N]\ninput x: f32[N]\nfor i in range(1, N):\n";
  const Verdict verdict = of_four_lanes(scan + "    s[i] = s[i - 1] + x[i]\n", true);
  ASSERT_TRUE(is_legal(verdict));
  EXPECT_TRUE(std::get<Legal>(verdict).reassociates);
  for (const char* value : {"s[i] = x[i] * s[i - 1]", "s[i] += s[i - 1]",
                            "s[i] = max(s[i], s[i - 1])", "s[i] = s[i - 1] - s[i]"})
    EXPECT_TRUE(is_legal(of_four_lanes(scan + "    " + value + "\n", true))) << value;
}

TEST(Judge, LetsLanesHandOnNothingElse) {
  const std::string scan = "param N\ninout s: f32[N]\ninput x: f32[N]\nfor i in range(2, N - 1):\n";
  const std::string sum = "    s[i] = s[i - 1] + x[i]\n";
  EXPECT_FALSE(is_legal(of_four_lanes(scan + sum, false)));
  EXPECT_FALSE(is_legal(of_four_lanes("numerics exact\n" + scan + sum, true)));
  for (const char* value :
       {"s[i] = s[i - 2] + x[i]", "s[i] = s[i - 1] + s[i + 1]", "s[i] = 0.5 * s[i - 1] + x[i]",
        "s[i] = x[i] - s[i - 1]", "s[i] = s[i - 1] + s[i - 2]", "s[i] = s[i - 1] + s[N - 1 - i]"})
    EXPECT_FALSE(is_legal(of_four_lanes(scan + "    " + value + "\n", true))) << value;
  EXPECT_FALSE(
      is_legal(of_four_lanes("numerics fast\nparam N\ninout s: f16[N]\nfor i in range(1, N):\n"
                             "    s[i] = s[i - 1] + 1\n",
                             true)))
      << "each store rounds";
}

TEST(Judge, ReassociatesOnlyWhereTheContractAllows) {
  const std::string text = "param N\ninput A: f32[N]\ninout s: f32\nfor i in range(N):\n"
                           "    s += A[i]\n";
  const Scop rounding = scop_of(text);
  const Verdict verdict = judge(rounding, with_rows(rounding, {negated(iter(0))}));
  ASSERT_TRUE(is_legal(verdict));
  EXPECT_TRUE(std::get<Legal>(verdict).reassociates);
  const Scop exact = scop_of("numerics exact\n" + text);
  EXPECT_FALSE(is_legal(judge(exact, with_rows(exact, {negated(iter(0))}))));
}

TEST(Judge, IsUndecidedWithoutOperationsAndUsableAfterwards) {
  const Scop scop = jacobi();
  const Order order = with_rows(scop, {iter(1), iter(0)});
  // Wherever the operations run out, in a wrapped call or in a plain C one.
  for (unsigned long quota = 1; quota < 200; quota += 7) {
    const Verdict verdict = judge(scop, order, quota);
    ASSERT_TRUE(std::holds_alternative<Undecided>(verdict)) << quota;
    EXPECT_EQ(std::get<Undecided>(verdict).reason,
              "the proof needs more than " + std::to_string(quota) + " operations on integer sets");
  }
  EXPECT_EQ(illegal_of(judge(scop, order)).element, (std::vector<int64_t>{1, 2}));
}

TEST(Judge, ShowsTheSameWitnessWhateverTheOrderOfDependences) {
  Scop scop = scop_of(R"(param N
inout A: i32[N + 2], B: i32[N + 2]
for i in range(N):
    A[i + 1] = A[i] + B[i + 2]
    B[i] = A[i + 2] + B[i + 1]
)");
  Order order = scop.source_order;
  order.rows[0] = {negated(iter(0))};
  order.rows[1] = {negated(iter(0))};
  const Illegal first = illegal_of(judge(scop, order));
  const Dependence named = scop.dependences[first.dependence];
  for (size_t turn = 1; turn < scop.dependences.size(); ++turn) {
    std::rotate(scop.dependences.begin(), scop.dependences.begin() + 1, scop.dependences.end());
    const Illegal again = illegal_of(judge(scop, order));
    EXPECT_EQ(again.params, first.params);
    EXPECT_EQ(again.source, first.source);
    EXPECT_EQ(again.sink, first.sink);
    EXPECT_EQ(again.element, first.element);
    const Dependence& d = scop.dependences[again.dependence];
    EXPECT_EQ(d.source, named.source);
    EXPECT_EQ(d.sink, named.sink);
    EXPECT_EQ(d.kind, named.kind);
  }
}

} // namespace
} // namespace kawara::poly
