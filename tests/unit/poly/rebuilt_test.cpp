#include "scops.h"

#include <utility>

namespace kawara::poly {
namespace {

constexpr const char* kThreeNests = R"(param N
input x: f32[N]
temp y: f32[N]
temp z: f32[N]
output w: f32[N]
for i in range(N):
    y[i] = x[i] + 1
for i in range(N):
    z[i] = y[i] * 2
for i in range(N):
    w[i] = z[i] + y[i]
)";

/// The same dependences as without anything known from before.
void expect_as_from_scratch(Scop changed) {
  Scop forgetful = changed;
  forgetful.dependences.clear();
  forgetful.analysed = nullptr;
  const Scop expected = rebuilt(std::move(forgetful));
  const Scop made = rebuilt(std::move(changed));
  ASSERT_EQ(made.dependences.size(), expected.dependences.size());
  for (size_t k = 0; k < made.dependences.size(); ++k) {
    const Dependence &a = made.dependences[k], &b = expected.dependences[k];
    EXPECT_EQ(a.kind, b.kind);
    EXPECT_EQ(a.tensor, b.tensor);
    EXPECT_EQ(a.source, b.source);
    EXPECT_EQ(a.sink, b.sink);
    EXPECT_EQ(a.is_reduction, b.is_reduction);
    EXPECT_TRUE(a.relation.is_equal(b.relation));
  }
}

TEST(Rebuilt, SeesANewIndex) {
  Scop scop = scop_of(kThreeNests);
  scop.statements[1].text.index = {scalar::int_lit(0)};
  expect_as_from_scratch(scop);
}

TEST(Rebuilt, SeesANewValue) {
  Scop scop = scop_of(kThreeNests);
  scop.statements[2].text.value = scop.statements[1].text.value;
  expect_as_from_scratch(scop);
}

TEST(Rebuilt, SeesADomainCutDown) {
  Scop scop = scop_of(kThreeNests);
  isl::set& domain = scop.statements[0].domain;
  domain = domain.subtract(domain.lexmin());
  expect_as_from_scratch(scop);
}

TEST(Rebuilt, SeesAnotherOrder) {
  Scop scop = scop_of(kThreeNests);
  std::swap(scop.source_order.body[0], scop.source_order.body[2]);
  expect_as_from_scratch(scop);
}

TEST(Rebuilt, SeesOtherRows) {
  Scop scop = scop_of(kJacobi);
  ASSERT_GE(scop.source_order.rows[0].size(), 2u);
  std::swap(scop.source_order.rows[0][0], scop.source_order.rows[0][1]);
  expect_as_from_scratch(scop);
}

TEST(Rebuilt, SeesAStatementRemoved) {
  Scop scop = scop_of(kThreeNests);
  scop.statements[1].is_removed = true;
  scop.source_order.body.erase(scop.source_order.body.begin() + 1);
  expect_as_from_scratch(scop);
}

} // namespace
} // namespace kawara::poly
