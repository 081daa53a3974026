#include "poly/legality/scheduled.h"

#include "poly/legality/directions.h"
#include "unit/poly/scops.h"

namespace kawara::poly {
namespace {

TEST(ScheduledOrder, IsLegal) {
  for (const char* text : {kJacobi, kGemm, kPrefixSum}) {
    const Scop scop = scop_of(text);
    const auto order = scheduled_order(scop, true);
    ASSERT_TRUE(order) << text;
    EXPECT_TRUE(is_legal(judge(scop, *order))) << print(*order, names_of_statements(scop));
  }
}

TEST(ScheduledOrder, BringsAProducerToItsConsumer) {
  const Scop scop = scop_of(R"(param N
input x: f32[N]
temp y: f32[N]
output z: f32[N]
for i in range(N):
    y[i] = x[i] + 1
for i in range(N):
    z[i] = y[i] * 2
)");
  const auto order = scheduled_order(scop, true);
  ASSERT_TRUE(order);
  EXPECT_EQ(meet(*order, StmtId{0}, StmtId{1}).shared_loops, 1u);
}

TEST(ScheduledOrder, IsNoneWithoutOperationsAndTheContextStaysUsable) {
  const Scop scop = scop_of(kJacobi);
  EXPECT_FALSE(scheduled_order(scop, true, 10));
  EXPECT_TRUE(scheduled_order(scop, true));
}

// Pools over a padded line: isl would look for an order for minutes, whatever its quota.
TEST(ScheduledOrder, IsNotAskedForWhereAnIndexStepsOverElements) {
  for (const char* index : {"2*i + k", "i + 2*k"}) {
    const Scop scop = scop_of(std::string(R"(input x: f32[65537]
temp p: f32[65539]
output y: f32[32000]
for i in range(65539):
    if i >= 1 and i < 65538:
        p[i] = x[i - 1]
    else:
        p[i] = 0
for i in range(32000):
    y[i] = 0
    for k in range(3):
        y[i] max= p[)") + index +
                              "]\n");
    EXPECT_FALSE(scheduled_order(scop, true));
  }
}

TEST(Directions, OfAStencil) {
  const Scop scop = scop_of(kJacobi);
  const auto all = directions(scop, scop.source_order, {StmtId{0}}, 0);
  ASSERT_EQ(all.size(), 1u);
  ASSERT_EQ(all[0].by_loop.size(), 2u);
  EXPECT_TRUE(all[0].by_loop[0].is_positive());
  EXPECT_EQ(all[0].by_loop[1].low, -1);
  EXPECT_EQ(all[0].by_loop[1].high, 1);
  EXPECT_FALSE(all[0].by_loop[1].is_non_negative());
  // The outer loop carries all of them.
  EXPECT_TRUE(directions(scop, scop.source_order, {StmtId{0}}, 1).empty());
}

TEST(Directions, OfAReductionAreUnboundedAbove) {
  const Scop scop = scop_of(kGemm);
  const auto inner = directions(scop, scop.source_order, {StmtId{1}}, 2);
  ASSERT_EQ(inner.size(), 1u);
  EXPECT_EQ(inner[0].by_loop[0].low, 1);
  EXPECT_FALSE(inner[0].by_loop[0].high);
}

} // namespace
} // namespace kawara::poly
