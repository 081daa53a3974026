#include "scalar/expr.h"
#include "support/check.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

namespace kawara::scalar {
namespace {

constexpr Type kF32{Elem::F32, 1};
constexpr Type kF64{Elem::F64, 1};
const Names kNames{{"i", "j", "k"}, {"N", "M"}, {"A", "B"}, {"v"}};

std::string text(const Expr& e) { return to_string(e, kNames); }
Expr n(int64_t v) { return int_lit(v); }
Expr op(BinaryOp o, const Expr& a, const Expr& b) { return binary(o, a, b); }

TEST(Makers, CheckTheirOperands) {
  const Expr i = iter(0), x = float_lit(1, kF32), h = load(0, {i}, {Elem::F16, 1});
  EXPECT_THROW(i + x, InternalError);
  EXPECT_THROW(h + h, InternalError) << "f16 is never computed with";
  EXPECT_THROW(op(BinaryOp::Div, i, i), InternalError);
  EXPECT_THROW(op(BinaryOp::FloorDiv, x, x), InternalError);
  EXPECT_THROW(op(BinaryOp::And, i, i), InternalError);
  EXPECT_THROW(unary(UnaryOp::Exp, i), InternalError);
  EXPECT_THROW(unary(UnaryOp::Not, i), InternalError);
  EXPECT_THROW(select(i, x, x), InternalError);
  EXPECT_THROW(load(0, {x}, kF32), InternalError);
  EXPECT_THROW(float_lit(1, kIndex), InternalError);
  EXPECT_THROW(i + Expr(), InternalError);
}

TEST(Makers, DeriveTypes) {
  const Expr i = iter(0);
  EXPECT_EQ(op(BinaryOp::Lt, i, n(3)).type(), kBool);
  EXPECT_EQ((i + n(3)).type(), kIndex);
  EXPECT_EQ(ramp(i, 2, 4).type(), (Type{Elem::I64, 4}));
  EXPECT_EQ(zero_of({Elem::F32, 4}).type(), (Type{Elem::F32, 4}));
  EXPECT_EQ(reduce(ReduceOp::Sum, zero_of({Elem::F32, 4})).type(), kF32);
  EXPECT_EQ(text(reduce(ReduceOp::Sum, zero_of({Elem::F32, 8}), 2)),
            "reduce_sum(broadcast(0.0, 8), 2)");
  EXPECT_THROW(reduce(ReduceOp::Sum, zero_of({Elem::F32, 12}), 4), InternalError);
  EXPECT_TRUE(cast(i, kIndex).is_same_object(i));
  EXPECT_EQ(cast(i, kF32).type(), kF32);
}

TEST(Makers, IdentitiesAreNeutral) {
  EXPECT_EQ(text(identity_of(ReduceOp::Sum, kF32)), "0.0");
  EXPECT_EQ(text(identity_of(ReduceOp::Prod, kF32)), "1.0");
  EXPECT_EQ(text(identity_of(ReduceOp::Max, kF32)), "-inf");
  EXPECT_EQ(text(identity_of(ReduceOp::Min, kF32)), "inf");
  EXPECT_EQ(constant_of(identity_of(ReduceOp::Max, {Elem::I32, 1})), -2147483648LL);
  EXPECT_EQ(constant_of(identity_of(ReduceOp::Min, {Elem::I64, 1})), INT64_MAX);
  EXPECT_EQ(constant_of(identity_of(ReduceOp::Min, {Elem::U8, 1})), 255);
}

TEST(Walk, RebuildsFromItsChildren) {
  const Expr i = iter(0), x = load(0, {i, iter(1)}, kF32);
  const std::vector<Expr> all{n(3),
                              x,
                              unary(UnaryOp::Exp, x),
                              x * x,
                              select(op(BinaryOp::Lt, i, n(2)), x, float_lit(0, kF32)),
                              cast(x, kF64),
                              ramp(i, 1, 4),
                              runs(i, 2, 8, 4),
                              broadcast(x, 4),
                              reduce(ReduceOp::Max, broadcast(x, 4)),
                              reduce(ReduceOp::Sum, broadcast(x, 8), 2),
                              var(0),
                              param(1)};
  for (const Expr& e : all) {
    EXPECT_TRUE(equal(with_children(e, children(e)), e)) << text(e);
    EXPECT_EQ(hash_of(with_children(e, children(e))), hash_of(e));
  }
  EXPECT_THROW(with_children(x, {i}), InternalError);
}

TEST(Walk, SubstitutesAtOnce) {
  const Expr e = iter(0) + iter(1) * param(0);
  EXPECT_EQ(text(substitute_iters(e, {iter(1), iter(0)})), "j + i * N");
  EXPECT_EQ(text(substitute_iters(e, {n(7)})), "7 + j * N");
  EXPECT_EQ(text(substitute_params(e, {n(5)})), "i + j * 5");
  EXPECT_TRUE(substitute_params(e, {Expr()}).is_same_object(e));
  int count = 0;
  visit(e, [&](const Expr&) { ++count; });
  EXPECT_EQ(count, 5);
}

TEST(Equal, DistinguishesWhatDiffers) {
  const std::vector<Expr> all{n(0),
                              int_lit(0, {Elem::I32, 1}),
                              float_lit(0, kF32),
                              float_lit(-0.0, kF32),
                              float_lit(0, kF64),
                              iter(0),
                              iter(1),
                              param(0),
                              var(0),
                              iter(0) + iter(1),
                              iter(1) + iter(0),
                              iter(0) - iter(1),
                              load(0, {iter(0)}, kF32),
                              load(1, {iter(0)}, kF32),
                              load(0, {}, kF32),
                              ramp(iter(0), 1, 4),
                              ramp(iter(0), 2, 4),
                              ramp(iter(0), 1, 8),
                              runs(iter(0), 2, 8, 4),
                              runs(iter(0), 2, 9, 4)};
  std::set<uint64_t> hashes;
  for (size_t a = 0; a < all.size(); ++a) {
    hashes.insert(hash_of(all[a]));
    for (size_t b = 0; b < all.size(); ++b)
      EXPECT_EQ(equal(all[a], all[b]), a == b) << text(all[a]) << " and " << text(all[b]);
  }
  EXPECT_EQ(hashes.size(), all.size());
  EXPECT_TRUE(equal(float_lit(NAN, kF32), float_lit(NAN, kF32)));
  EXPECT_FALSE(equal(Expr(), n(0)));
  EXPECT_TRUE(equal(Expr(), Expr()));
}

TEST(QuasiAffine, AcceptsIndexAlgebraOnly) {
  const Expr i = iter(0), N = param(0), three = n(3);
  const auto cmp = op(BinaryOp::Lt, i, N);
  EXPECT_TRUE(is_quasi_affine(i * three + N - n(1)));
  EXPECT_TRUE(is_quasi_affine((n(2) * three) * i));
  EXPECT_TRUE(is_quasi_affine(op(BinaryOp::FloorDiv, i + N, three)));
  EXPECT_TRUE(is_quasi_affine(op(BinaryOp::Mod, i, n(2) + n(2))));
  EXPECT_TRUE(is_quasi_affine(op(BinaryOp::Min, i, N)));
  EXPECT_TRUE(is_quasi_affine(unary(UnaryOp::Not, op(BinaryOp::And, cmp, cmp))));
  EXPECT_FALSE(is_quasi_affine(i * N));
  EXPECT_FALSE(is_quasi_affine(op(BinaryOp::FloorDiv, i, N)));
  EXPECT_FALSE(is_quasi_affine(op(BinaryOp::Mod, i, n(0))));
  EXPECT_FALSE(is_quasi_affine(op(BinaryOp::Mod, i, n(-2))));
  EXPECT_FALSE(is_quasi_affine(load(0, {i}, kIndex)));
  EXPECT_FALSE(is_quasi_affine(load(0, {i}, kIndex) + i));
  EXPECT_FALSE(is_quasi_affine(float_lit(1, kF32)));
  EXPECT_FALSE(is_quasi_affine(Expr()));
}

TEST(Print, UsesFewestParentheses) {
  const Expr i = iter(0), j = iter(1), k = iter(2);
  const auto lt = op(BinaryOp::Lt, i, j), eq = op(BinaryOp::Eq, i, k);
  EXPECT_EQ(text(i + j * k), "i + j * k");
  EXPECT_EQ(text((i + j) * k), "(i + j) * k");
  EXPECT_EQ(text(i - (j - k)), "i - (j - k)");
  EXPECT_EQ(text((i - j) - k), "i - j - k");
  EXPECT_EQ(text(i * op(BinaryOp::FloorDiv, j, n(4))), "i * (j // 4)");
  EXPECT_EQ(text(op(BinaryOp::FloorDiv, i * j, n(4))), "i * j // 4");
  EXPECT_EQ(text(op(BinaryOp::Mod, i + j, n(4))), "(i + j) % 4");
  EXPECT_EQ(text(op(BinaryOp::Min, i, j + n(1))), "min(i, j + 1)");
  EXPECT_EQ(text(unary(UnaryOp::Neg, i) * j), "-i * j");
  EXPECT_EQ(text(unary(UnaryOp::Neg, i * j)), "-(i * j)");
  EXPECT_EQ(text(unary(UnaryOp::Not, lt)), "not i < j");
  EXPECT_EQ(text(op(BinaryOp::And, unary(UnaryOp::Not, lt), eq)), "not i < j and i == k");
  EXPECT_EQ(text(op(BinaryOp::And, op(BinaryOp::Or, lt, eq), lt)), "(i < j or i == k) and i < j");
  EXPECT_EQ(text(op(BinaryOp::Eq, lt, eq)), "(i < j) == (i == k)");
  EXPECT_EQ(text(unary(UnaryOp::Not, op(BinaryOp::And, lt, eq))), "not (i < j and i == k)");
  EXPECT_EQ(text(i + n(-3)), "i + -3");
  EXPECT_EQ(text(load(0, {i, j + n(1)}, kF32)), "A[i, j + 1]");
  EXPECT_EQ(text(load(1, {}, kF32)), "B");
  EXPECT_EQ(text(load(7, {iter(5)}, kF32)), "t7[i5]");
  EXPECT_EQ(text(cast(load(0, {}, {Elem::F16, 1}), kF32)), "f32(A)");
  EXPECT_EQ(text(select(lt, i, j)), "select(i < j, i, j)");
  EXPECT_EQ(text(ramp(i, 1, 4)), "ramp(i, 1, 4)");
  EXPECT_EQ(text(runs(i, 4, 16, 12)), "runs(i, 4, 16, 12)");
  EXPECT_EQ(text(runs(i, 4, 4, 12)), "ramp(i, 1, 12)") << "runs that follow each other are one";
  EXPECT_EQ(text(runs(i, 1, 16, 12)), "ramp(i, 16, 12)");
}

TEST(Print, FloatLiteralsComeBack) {
  EXPECT_EQ(text(float_lit(0, kF32)), "0.0");
  EXPECT_EQ(text(float_lit(-0.0, kF32)), "-0.0");
  EXPECT_EQ(text(float_lit(1e-5, kF32)), "1e-05");
  EXPECT_EQ(text(float_lit(0.1, kF32)), "0.1");
  EXPECT_EQ(text(float_lit(0.1, kF64)), "0.1");
  EXPECT_EQ(text(float_lit(3, kF64)), "3.0");
  EXPECT_EQ(text(float_lit(-INFINITY, kF64)), "-inf");
  for (const double v : {1.0 / 3, 1e300, 5e-324, 1e21, 123456789.0, 1e22, 0x1p-1074, 2.5}) {
    const std::string shown = text(float_lit(v, kF64));
    EXPECT_EQ(std::strtod(shown.c_str(), nullptr), v) << shown;
    EXPECT_NE(shown.find_first_of(".e"), std::string::npos) << shown;
  }
}

TEST(Expr, rewriting_keeps_what_is_shared) {
  Expr e = iter(0);
  for (int k = 0; k < 30; ++k)
    e = e + e;
  int calls = 0;
  Expr rewritten = rewrite(e, [&](const Expr& n) {
    ++calls;
    return as<Iter>(n) != nullptr ? iter(1) : Expr();
  });
  EXPECT_EQ(calls, 31) << "written out there are a thousand million nodes";
  for (int k = 0; k < 30; ++k) {
    const std::vector<Expr> parts = children(rewritten);
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_TRUE(parts[0].is_same_object(parts[1]));
    rewritten = parts[0];
  }
  EXPECT_TRUE(equal(rewritten, iter(1)));
}

} // namespace
} // namespace kawara::scalar
