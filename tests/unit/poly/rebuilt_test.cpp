#include "unit/poly/scops.h"

#include <map>
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

/// An update and a plain assignment of one element: three kinds of dependences with the same pairs.
TEST(Rebuilt, SharesPairsBetweenKinds) {
  const Scop scop = scop_of(R"(param N
input x: f32[N]
inout y: f32[N]
for i in range(N):
    y[i] += x[i]
    y[i] = y[i] * 2
)");
  std::map<DependenceKind, const isl_map*> pairs;
  for (const Dependence& d : scop.dependences)
    if (d.source == StmtId{0} && d.sink == StmtId{1})
      pairs[d.kind] = d.relation.get();
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_EQ(pairs[DependenceKind::Flow], pairs[DependenceKind::Anti]);
  EXPECT_EQ(pairs[DependenceKind::Flow], pairs[DependenceKind::Output]);
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

Expr block_of(const Expr& e) {
  return scalar::binary(scalar::BinaryOp::FloorDiv, e, scalar::int_lit(8));
}
Expr place_in(const Expr& e) {
  return scalar::binary(scalar::BinaryOp::Mod, e, scalar::int_lit(8));
}

/// y[element] of both statements that touch it as y[block, element].
void put_in_front(Scop& scop, const Expr& of_writer, const Expr& of_reader) {
  scop.statements[0].text.index.insert(scop.statements[0].text.index.begin(), of_writer);
  scop.tensors[1].shape.insert(scop.tensors[1].shape.begin(), scop.tensors[1].shape.front());
  for (const size_t s : {1U, 2U})
    scop.statements[s].text.value =
        scalar::rewrite(scop.statements[s].text.value, [&](const Expr& e) -> Expr {
          const auto* load = scalar::as<scalar::Load>(e);
          if (load == nullptr || load->tensor != 1)
            return {};
          std::vector<Expr> index = load->index;
          index.insert(index.begin(), of_reader);
          return scalar::load(1, index, e.type());
        });
}

const ProofCache* shown_of(const Scop& scop, uint32_t source, uint32_t sink) {
  for (const Dependence& d : scop.dependences)
    if (d.source.value == source && d.sink.value == sink)
      return d.shown.get();
  return nullptr;
}

TEST(Rebuilt, KeepsWhatIsOfOtherTensors) {
  Scop scop = scop_of(kThreeNests);
  // w[i] = z[i]: what it read of y is gone, what it reads of z is known.
  scop.statements[2].text.value = scalar::load(2, {scalar::iter(0)}, {scalar::Elem::F32, 1});
  expect_as_from_scratch(scop);
  const Scop made = rebuilt(scop);
  EXPECT_EQ(shown_of(made, 1, 2), shown_of(scop, 1, 2));
  EXPECT_EQ(shown_of(made, 0, 1), shown_of(scop, 0, 1));
  EXPECT_EQ(shown_of(made, 0, 2), nullptr);
}

TEST(Rebuilt, KeepsPairsInOneCopy) {
  Scop scop = scop_of(kThreeNests);
  put_in_front(scop, block_of(scalar::iter(0)), block_of(scalar::iter(0)));
  expect_as_from_scratch(scop);
  EXPECT_EQ(shown_of(rebuilt(scop), 0, 1), shown_of(scop, 0, 1));
}

TEST(Rebuilt, LeavesPairsInOtherCopiesOut) {
  Scop scop = scop_of(kThreeNests);
  put_in_front(scop, block_of(scalar::iter(0)), scalar::int_lit(1));
  expect_as_from_scratch(scop);
  EXPECT_NE(shown_of(rebuilt(scop), 0, 1), shown_of(scop, 0, 1));
  Scop apart = scop_of(kThreeNests);
  put_in_front(apart, scalar::int_lit(0), scalar::int_lit(1));
  expect_as_from_scratch(apart);
  EXPECT_EQ(shown_of(rebuilt(apart), 0, 1), nullptr);
}

TEST(Rebuilt, KeepsWhatWasProvedOfTheNewOrder) {
  Scop scop = scop_of(kJacobi);
  const Scop before = scop;
  // t in blocks: the same order, and proved to be legal.
  scop.source_order.rows[0] = {block_of(scalar::iter(0)), place_in(scalar::iter(0)),
                               scalar::iter(1)};
  scop.source_order.body[0] = {add_loop(scop.source_order, "t.0", {}), {scop.source_order.body[0]}};
  ASSERT_TRUE(is_legal(judge(before, before.source_order)));
  expect_as_from_scratch(scop);
  EXPECT_EQ(shown_of(rebuilt(scop), 0, 0), shown_of(before, 0, 0));
}

TEST(Rebuilt, FindsReductionsInTheirNewOrder) {
  Scop scop = scop_of(R"(param N
input x: f32[N]
inout s: f32
for i in range(N):
    s += x[i]
)");
  const Order reversed = with_rows(scop, {scalar::int_lit(0) - scalar::iter(0)});
  ASSERT_TRUE(is_legal(judge(scop, reversed)));
  scop.source_order = reversed;
  expect_as_from_scratch(scop);
}

} // namespace
} // namespace kawara::poly
