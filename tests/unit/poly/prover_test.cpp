#include "poly/syntactic/prover.h"

#include "poly/accesses.h"
#include "poly/syntactic/comparison.h"
#include "support/check.h"
#include "unit/poly/scops.h"

// Answers of the syntactic prover are compared with sets: right ones pass, and each kind of wrong
// one, put in its place, is found.

namespace kawara::poly {
namespace {

using scalar::int_lit;
using scalar::iter;

constexpr const char* kTwoNests = R"(input X: f32[64, 8]
temp T: f32[64, 8]
output Y: f32[64, 8]
for i in range(64):
    for j in range(8):
        T[i, j] = X[i, j]
for i in range(64):
    for j in range(8):
        Y[i, j] = T[i, j]
)";
constexpr const char* kHalves = R"(inout A: f32[2, 9]
for i in range(9):
    A[0, i] = A[1, i]
)";

Expr tile_of(const Expr& e, int64_t size) {
  return scalar::binary(scalar::BinaryOp::FloorDiv, e, int_lit(size));
}
Expr place_in(const Expr& e, int64_t size) {
  return scalar::binary(scalar::BinaryOp::Mod, e, int_lit(size));
}

/// A scop whose prover is compared with sets.
struct Compared {
  explicit Compared(const std::string& text) : comparison(std::make_shared<Comparison>()) {
    auto made = scop_from_program(program_of(text), make_context(comparison));
    if (!made)
      throw std::runtime_error(render(made.error()));
    scop = *std::move(made);
  }

  SyntacticProver prover() const { return SyntacticProver(scop); }
  size_t count(Question q) const { return comparison->of(q).compared; }

  /// Puts the answer in place of all those of the question.
  template <class Value> void answer(Question q, Value wrong) {
    comparison->fault = [q, wrong](Question asked, AnswerRef given) {
      if (asked == q)
        *std::get<Value*>(given) = wrong;
    };
  }

  std::shared_ptr<Comparison> comparison;
  Scop scop;
};

/// What is said where sets contradict; empty: nothing.
template <class Ask> std::string contradiction(Ask&& ask) {
  try {
    ask();
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

/// What is asked is answered otherwise than sets do, and an error says so.
template <class Value, class Ask>
void expect_found(Compared& c, Question q, const Value& wrong, Ask&& ask) {
  c.answer(q, wrong);
  const std::string said = contradiction(ask);
  EXPECT_NE(said.find("the syntactic prover, about " + std::string(name_of(q))), std::string::npos)
      << said;
  EXPECT_NE(said.find("sets say otherwise: "), std::string::npos) << said;
  c.comparison->fault = nullptr;
}

const Dependence& sum_of(const Scop& scop) {
  for (const Dependence& d : scop.dependences)
    if (d.is_reduction)
      return d;
  throw std::runtime_error("no reduction");
}

TEST(Prover, IsComparedAboutAccesses) {
  Compared c(kHalves);
  const std::vector<Access> all = bare_accesses(c.scop);
  ASSERT_EQ(all.size(), 2U);
  const size_t before = c.count(Question::Disjoint);
  EXPECT_EQ(c.prover().are_disjoint(all[0], all[1]), Answer::Yes);
  EXPECT_EQ(c.count(Question::Disjoint), before + 1);
  EXPECT_EQ(c.prover().are_disjoint(all[0], all[0]), Answer::Unknown);
  EXPECT_EQ(c.count(Question::Disjoint), before + 1) << "nothing was claimed";
  expect_found(c, Question::Disjoint, Answer::Yes,
               [&] { (void)c.prover().are_disjoint(all[0], all[0]); });
  expect_found(c, Question::Conflict, Answer::Yes,
               [&] { (void)c.prover().are_in_conflict(c.scop.source_order, all[0], all[1]); });

  Compared sum("input A: f32[9]\noutput s: f32[1]\ns[0] = 0\n"
               "for k in range(9):\n    s[0] += A[k]\n");
  const std::vector<Access> of_sum = bare_accesses(sum.scop);
  EXPECT_EQ(sum.prover().are_in_conflict(sum.scop.source_order, of_sum.back(), of_sum.back()),
            Answer::Yes);
  EXPECT_GT(sum.count(Question::Conflict), 0U);
}

TEST(Prover, IsComparedAboutPairs) {
  Compared c(kGemm);
  const Dependence& d = sum_of(c.scop);
  const Equalities of = c.prover().equalities_of(d.relation, d.source, d.sink);
  EXPECT_EQ(c.prover().are_equal(of, iter(0), iter(0)), Answer::Yes);
  EXPECT_GT(c.count(Question::EqualInPairs), 0U);
  expect_found(c, Question::EqualInPairs, Answer::Yes,
               [&] { (void)c.prover().are_equal(of, iter(2), iter(2)); });

  Order order = c.scop.source_order;
  order.rows[d.source.value] = {tile_of(iter(2), 4), iter(0), place_in(iter(2), 4)};
  const auto steps = [&] { return c.prover().steps(order, of, 3); };
  EXPECT_EQ(steps().size(), 1U) << "k";
  expect_found(c, Question::Steps, std::vector<Step>{}, steps);
  expect_found(c, Question::Steps, std::vector<Step>{{iter(0), iter(0), 0, 2}}, steps);
  expect_found(c, Question::Steps,
               std::vector<Step>{{place_in(iter(2), 4), place_in(iter(2), 4), 0, 2}}, steps);
  expect_found(c, Question::Steps,
               std::vector<Step>{{tile_of(iter(2), 4), tile_of(iter(2), 4), 0, 0}}, steps);
}

TEST(Prover, IsComparedAboutIterations) {
  Compared c(kTwoNests);
  const StmtId s{0};
  const Expr i = iter(0), j = iter(1);
  const std::vector<Expr> tiles{tile_of(i, 8), j, place_in(i, 8)};
  EXPECT_EQ(c.prover().are_equal(s, i, i), Answer::Yes);
  EXPECT_EQ(c.prover().are_equal(s, i, j), Answer::No);
  EXPECT_EQ(c.count(Question::Equal), 2U);
  expect_found(c, Question::Equal, Answer::No, [&] { (void)c.prover().are_equal(s, i, i); });
  expect_found(c, Question::Equal, Answer::Yes, [&] { (void)c.prover().are_equal(s, i, j); });

  EXPECT_EQ(c.prover().give_iterators(s, tiles, {i, j}), Answer::Yes);
  EXPECT_EQ(c.prover().give_iterators(s, {tile_of(i, 8), j}, {i, j}), Answer::No);
  EXPECT_EQ(c.prover().give_value(s, {tile_of(i, 8)}, tile_of(i, 16)), Answer::Yes);
  EXPECT_EQ(c.count(Question::Given), 3U);
  expect_found(c, Question::Given, Answer::No, [&] {
    (void)c.prover().give_iterators(s, tiles, {i, j});
  });
  expect_found(c, Question::Given, Answer::Yes, [&] {
    (void)c.prover().give_iterators(s, {tile_of(i, 8), j}, {i, j});
  });
  expect_found(c, Question::Given, Answer::Yes,
               [&] { (void)c.prover().give_value(s, {tile_of(i, 8)}, i); });

  using Solved = std::optional<std::vector<Expr>>;
  const auto solve = [&] { return c.prover().iterators_from(s, tiles, {i, j}); };
  EXPECT_TRUE(solve());
  EXPECT_EQ(c.count(Question::Solved), 1U);
  expect_found(c, Question::Solved,
               Solved(std::vector<Expr>{iter(0) * int_lit(8) + iter(1), iter(1)}), solve);
  expect_found(c, Question::Solved,
               Solved(std::vector<Expr>{iter(0) * int_lit(8) + iter(2), iter(2)}), solve);
}

TEST(Prover, IsComparedAboutBoxes) {
  Compared c(kTwoNests);
  const Expr i = iter(0);
  const auto boxes = [&] {
    return c.prover().boxes(StmtId{0}, {tile_of(i, 8)}, {place_in(i, 8), iter(1)});
  };
  const auto of = [](int64_t first, int64_t extent) {
    return std::optional(Boxes{{int_lit(first), int_lit(0)}, {int_lit(extent), int_lit(8)}});
  };
  ASSERT_TRUE(boxes());
  EXPECT_EQ(scalar::constant_of(boxes()->extent[0]), 8);
  EXPECT_EQ(c.count(Question::Boxes), 2U);
  expect_found(c, Question::Boxes, of(0, 7), boxes);
  expect_found(c, Question::Boxes, of(0, 9), boxes);
  expect_found(c, Question::Boxes, of(1, 8), boxes);
  expect_found(c, Question::Boxes, of(-1, 9), boxes);
}

TEST(Prover, IsComparedAboutLoops) {
  Compared c(kTwoNests);
  const Order& order = c.scop.source_order;
  const std::vector<LoopId> path = path_of(order, StmtId{0});
  const auto range = [&] { return c.prover().range(order, path[0]); };
  const auto run = [&] { return c.prover().longest_run(order, path[0]); };
  const auto rectangle = [&] { return c.prover().is_rectangle(order, path[0], path[1]); };
  EXPECT_EQ(range(), (ConstantRange{0, 63}));
  EXPECT_EQ(run(), 64);
  EXPECT_EQ(rectangle(), Answer::Yes);
  for (const Question q : {Question::Range, Question::Run, Question::Rectangle})
    EXPECT_EQ(c.count(q), 1U) << name_of(q);
  for (const auto& [low, high] : {std::pair(0, 62), std::pair(0, 64), std::pair(1, 63)})
    expect_found(c, Question::Range, std::optional(ConstantRange{low, high}), range);
  for (const int64_t wrong : {63, 65})
    expect_found(c, Question::Run, std::optional(wrong), run);
  expect_found(c, Question::Rectangle, Answer::No, rectangle);

  Compared triangle("output Y: f32[9, 9]\nfor i in range(9):\n"
                    "    for j in range(i + 1):\n        Y[i, j] = 1\n");
  const std::vector<LoopId> loops = path_of(triangle.scop.source_order, StmtId{0});
  expect_found(triangle, Question::Rectangle, Answer::Yes, [&] {
    (void)triangle.prover().is_rectangle(triangle.scop.source_order, loops[0], loops[1]);
  });
}

TEST(Prover, IsComparedAboutWhatWasProvedBefore) {
  Compared c(kJacobi);
  EXPECT_TRUE(is_legal(judge(c.scop, c.scop.source_order)));
  EXPECT_EQ(c.count(Question::Proved), 0U);
  EXPECT_TRUE(is_legal(judge(c.scop, c.scop.source_order)));
  EXPECT_GT(c.count(Question::Proved), 0U);
  expect_found(c, Question::Proved, Answer::Yes, [&] {
    (void)judge(c.scop, with_rows(c.scop, {iter(1), iter(0)}));
  });
}

TEST(Prover, IsComparedAboutDependencesThatAreTakenOver) {
  Compared c(kTwoNests);
  const Scop again = rebuilt(c.scop);
  EXPECT_EQ(again.dependences.size(), c.scop.dependences.size());
  EXPECT_GT(c.count(Question::Unchanged), 0U);
  Scop turned = c.scop;
  std::swap(turned.source_order.body[0], turned.source_order.body[1]);
  expect_found(c, Question::Unchanged, Answer::Yes, [&] { (void)rebuilt(turned); });
}

TEST(Prover, IsNotComparedElsewhere) {
  const Scop scop = scop_of(kTwoNests);
  EXPECT_FALSE(SyntacticProver(scop).is_comparing());
  EXPECT_TRUE(Compared(kTwoNests).prover().is_comparing());
}

TEST(Comparison, LeavesOutWhatTakesTooLong) {
  const ContextPtr context = make_context();
  Comparison comparison;
  const auto ask = [&](const std::function<std::optional<std::string>()>& sets) {
    comparison.compare(
        *context, Question::Boxes, [] { return "a claim"; }, sets);
  };
  const auto endless = [&]() -> std::optional<std::string> {
    const isl::set all(context->get(), "{ S[i] : 0 <= i < 8 }");
    while (!all.is_empty())
      (void)all.subtract(all).is_equal(all);
    return std::nullopt;
  };
  ask(endless);
  ask([] { return std::nullopt; });
  EXPECT_EQ(text_of(comparison), "answers of the syntactic prover compared with sets: 1 the same "
                                 "(1 boxes); 1 not finished");
  for (size_t n = 1; n < Comparison::kMostUnfinished; ++n)
    ask(endless);
  ask([] { return std::nullopt; });
  EXPECT_EQ(comparison.of(Question::Boxes).left_out, 1U);
  EXPECT_EQ(comparison.of(Question::Boxes).unfinished, Comparison::kMostUnfinished);
}

} // namespace
} // namespace kawara::poly
