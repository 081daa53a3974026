#include "poly/affine.h"

#include "scalar/eval.h"
#include "unit/poly/scops.h"

namespace kawara::poly {
namespace {

using scalar::BinaryOp;
using scalar::int_lit;
using scalar::iter;

class Affine : public testing::Test {
protected:
  Affine() : context(make_context()), params(program_of("param N\noutput s: i32\ns = 0\n").params) {
    domain = statement_universe(context->get(), params, "S0", 2);
  }

  bool comes_back(const Expr& e) const {
    return bool(expr_from_pw_aff(pw_aff_from_expr(e, domain, params), params));
  }

  /// The same value at every small point.
  void expect_same(const Expr& e) const {
    const Expr back = expr_from_pw_aff(pw_aff_from_expr(e, domain, params), params);
    for (int64_t i = -5; i <= 5; ++i)
      for (int64_t j = -5; j <= 5; ++j)
        EXPECT_EQ(scalar::evaluate_index(back, {i, j}, {7}),
                  scalar::evaluate_index(e, {i, j}, {7}));
  }

  ContextPtr context;
  std::vector<program::Param> params;
  isl::set domain;
};

TEST_F(Affine, SumsComeBack) {
  expect_same(iter(0) * int_lit(2) - iter(1) + int_lit(3));
  expect_same(scalar::param(0) - iter(1));
}

TEST_F(Affine, FloorsAndRemaindersComeBack) {
  expect_same(scalar::binary(BinaryOp::FloorDiv, iter(0), int_lit(3)));
  expect_same(scalar::binary(BinaryOp::Mod, iter(0) + iter(1), int_lit(4)));
  const Expr tile = scalar::binary(BinaryOp::FloorDiv, iter(0), int_lit(4));
  expect_same(scalar::binary(BinaryOp::FloorDiv, tile, int_lit(2)) + iter(1));
}

TEST_F(Affine, SeveralPiecesGiveNothing) {
  EXPECT_FALSE(comes_back(scalar::binary(BinaryOp::Min, iter(0), iter(1))));
}

TEST_F(Affine, ConditionsLoseWhatIsKnown) {
  const isl::ctx ctx = context->get();
  const isl::set known(ctx, "[N, T] -> { : N >= 1 }");
  EXPECT_EQ(condition_text(isl::set(ctx, "[N, T] -> { : N >= 4 and T >= 2 }"), known),
            "N >= 4 and T >= 2");
  EXPECT_EQ(condition_text(isl::set(ctx, "[N, T] -> { : N >= 1 }"), known), "");
}

TEST_F(Affine, MapsHoldTheFunctionOnTheDomainAlone) {
  const isl::set some(context->get(), "[N] -> { S0[i, j] : 0 <= i < 9 and i <= j < N }");
  const isl::set elements = statement_universe(context->get(), params, "C", 2);
  const Expr tile = scalar::binary(BinaryOp::FloorDiv, iter(1), int_lit(4));
  const Expr place = scalar::binary(BinaryOp::Mod, iter(1) - iter(0), int_lit(4));
  const isl::map tiles(
      context->get(),
      "[N] -> { S0[i, j] -> C[floor(j/4), (j - i) mod 4] : 0 <= i < 9 and i <= j < N }");
  EXPECT_TRUE(map_from_exprs({tile, place}, some, elements, params).is_equal(tiles));
  // One function with cases, and one without.
  const Expr least = scalar::binary(BinaryOp::Min, iter(0) * int_lit(2), iter(1));
  const isl::map cases(context->get(),
                       "[N] -> { S0[i, j] -> C[min(2i, j), N - j] : 0 <= i < 9 and i <= j < N }");
  EXPECT_TRUE(
      map_from_exprs({least, scalar::param(0) - iter(1)}, some, elements, params).is_equal(cases));
}

} // namespace
} // namespace kawara::poly
