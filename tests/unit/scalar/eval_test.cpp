#include "scalar/eval.h"

#include <cmath>
#include <gtest/gtest.h>

namespace kawara::scalar {
namespace {

constexpr Type kSingle{Elem::F32, 1};
constexpr Type kI32{Elem::I32, 1};

double real(const Expr& e) { return evaluate(e, Leaves{})->f; }
int64_t whole(const Expr& e) { return evaluate(e, Leaves{})->i; }
Expr f32(double v) { return float_lit(v, kSingle); }
Expr i32(int64_t v) { return int_lit(v, kI32); }

TEST(Evaluate, RoundsAfterEachOperation) {
  const float a = 16777216.0F, one = 1.0F;
  EXPECT_EQ(real((f32(a) + f32(one)) + f32(one)), static_cast<double>((a + one) + one));
  EXPECT_EQ(real(f32(0.1) * f32(0.1)), static_cast<double>(0.1F * 0.1F));
  EXPECT_EQ(real(binary(BinaryOp::Div, f32(1), f32(3))), static_cast<double>(1.0F / 3.0F));
}

TEST(Evaluate, IntegersWrap) {
  EXPECT_EQ(whole(i32(INT32_MAX) + i32(1)), INT32_MIN);
  EXPECT_EQ(whole(int_lit(INT64_MAX) + int_lit(1)), INT64_MIN);
  EXPECT_EQ(whole(unary(UnaryOp::Abs, int_lit(INT64_MIN))), INT64_MIN);
  EXPECT_EQ(whole(binary(BinaryOp::FloorDiv, int_lit(INT64_MIN), int_lit(-1))), INT64_MIN);
  EXPECT_EQ(whole(binary(BinaryOp::Mod, int_lit(INT64_MIN), int_lit(-1))), 0);
}

TEST(Evaluate, BitsAndShifts) {
  EXPECT_EQ(whole(binary(BinaryOp::BitXor, i32(-1), i32(5))), ~5);
  EXPECT_EQ(whole(binary(BinaryOp::Shl, i32(3), i32(31))), INT32_MIN);
  EXPECT_EQ(whole(binary(BinaryOp::Shl, i32(3), i32(33))), 6); // modulo 32
  EXPECT_EQ(whole(binary(BinaryOp::Shr, i32(-8), i32(1))), -4);
  EXPECT_EQ(whole(binary(BinaryOp::Shr, int_lit(-1, {Elem::U64, 1}), int_lit(63, {Elem::U64, 1}))),
            1);
}

TEST(Evaluate, NaturalsHaveNoSign) {
  const Type u64{Elem::U64, 1};
  const Expr large = int_lit(-2, u64), five = int_lit(5, u64);
  EXPECT_EQ(whole(binary(BinaryOp::Lt, large, five)), 0);
  EXPECT_EQ(whole(binary(BinaryOp::Max, large, five)), -2);
  EXPECT_EQ(whole(binary(BinaryOp::FloorDiv, large, int_lit(2, u64))), INT64_MAX);
  EXPECT_EQ(whole(binary(BinaryOp::Mod, large, five)), 4);
  EXPECT_EQ(real(cast(large, {Elem::F64, 1})), 0x1p64);
  EXPECT_EQ(whole(cast(float_lit(0x1p63, {Elem::F64, 1}), u64)), INT64_MIN);
  EXPECT_EQ(whole(cast(float_lit(-1, {Elem::F64, 1}), u64)), 0);
  EXPECT_EQ(whole(cast(float_lit(0x1p33, {Elem::F64, 1}), {Elem::U32, 1})), 0);
  EXPECT_EQ(whole(identity_of(ReduceOp::Min, u64)), -1);
}

TEST(Evaluate, DivisionRoundsDown) {
  for (int64_t a = -13; a <= 13; ++a) {
    for (int64_t b = -5; b <= 5; ++b) {
      const auto q = evaluate(binary(BinaryOp::FloorDiv, int_lit(a), int_lit(b)), Leaves{});
      const auto r = evaluate(binary(BinaryOp::Mod, int_lit(a), int_lit(b)), Leaves{});
      if (b == 0) {
        EXPECT_FALSE(q);
        EXPECT_FALSE(r);
        continue;
      }
      EXPECT_EQ(q->i, static_cast<int64_t>(std::floor(static_cast<double>(a) / b)));
      EXPECT_EQ(q->i * b + r->i, a);
    }
  }
}

TEST(Evaluate, SelectSkipsTheOtherSide) {
  const Expr bad = binary(BinaryOp::FloorDiv, int_lit(1), int_lit(0));
  const Expr yes = binary(BinaryOp::Lt, int_lit(1), int_lit(2));
  EXPECT_EQ(whole(select(yes, int_lit(5), bad)), 5);
  EXPECT_FALSE(evaluate(select(yes, bad, int_lit(5)), Leaves{}));
}

TEST(Evaluate, MinAndMaxAreNaNWhereASideIs) {
  for (const BinaryOp op : {BinaryOp::Max, BinaryOp::Min})
    for (const double x : {2.0, -HUGE_VAL, HUGE_VAL, std::nan("")}) {
      EXPECT_TRUE(std::isnan(real(binary(op, f32(NAN), f32(x)))));
      EXPECT_TRUE(std::isnan(real(binary(op, f32(x), f32(NAN)))));
    }
  EXPECT_EQ(real(binary(BinaryOp::Max, f32(1), f32(2))), 2.0);
  EXPECT_EQ(real(binary(BinaryOp::Min, f32(1), f32(2))), 1.0);
  EXPECT_FALSE(std::signbit(real(binary(BinaryOp::Max, f32(-0.0), f32(0)))));
  EXPECT_TRUE(std::signbit(real(binary(BinaryOp::Min, f32(0), f32(-0.0)))));
}

TEST(Evaluate, CastsConvert) {
  const auto to = [](Expr e, Elem elem) { return cast(std::move(e), Type{elem, 1}); };
  EXPECT_EQ(whole(to(f32(-2.9), Elem::I32)), -2);
  EXPECT_EQ(whole(to(f32(NAN), Elem::I64)), 0);
  EXPECT_EQ(whole(to(f32(1e30), Elem::I64)), INT64_MAX);
  EXPECT_EQ(whole(to(f32(-1e30), Elem::I64)), INT64_MIN);
  EXPECT_EQ(whole(to(f32(3e9), Elem::I32)), INT32_MAX);
  EXPECT_EQ(whole(to(f32(-INFINITY), Elem::I32)), INT32_MIN);
  EXPECT_EQ(whole(to(f32(3e9), Elem::I64)), 3000000000);
  EXPECT_EQ(whole(to(f32(300), Elem::U8)), 44);
  EXPECT_EQ(whole(to(f32(3e9), Elem::I8)), -1); // of the highest i32
  EXPECT_EQ(whole(to(i32(300), Elem::U8)), 44);
  EXPECT_EQ(whole(to(f32(0.5), Elem::Bool)), 1);
  EXPECT_EQ(real(to(int_lit(16777217), Elem::F32)), 16777216.0);
  EXPECT_EQ(real(to(f32(2049), Elem::F16)), 2048.0);
  // In two roundings this would give 0x1p60 + 0x1p37: the f64 in between lands on a tie.
  EXPECT_EQ(real(to(int_lit((int64_t{1} << 60) + (int64_t{1} << 36) + 1), Elem::F32)),
            static_cast<double>(static_cast<float>((int64_t{1} << 60) + (int64_t{1} << 36) + 1)));
}

TEST(Evaluate, VectorsLaneByLane) {
  const Expr lanes = ramp(int_lit(10), 3, 4);
  for (int lane = 0; lane < 4; ++lane)
    EXPECT_EQ(evaluate(lanes, Leaves{}, lane)->i, 10 + 3 * lane);
  const Expr rows = runs(int_lit(10), 2, 100, 6);
  for (int lane = 0; lane < 6; ++lane)
    EXPECT_EQ(evaluate(rows, Leaves{}, lane)->i, 10 + 100 * (lane / 2) + lane % 2);
  EXPECT_EQ(whole(reduce(ReduceOp::Sum, lanes)), 10 + 13 + 16 + 19);
  EXPECT_EQ(whole(reduce(ReduceOp::Max, lanes)), 19);
  EXPECT_EQ(whole(reduce(ReduceOp::Prod, broadcast(int_lit(3), 4))), 81);
  const Expr folded = reduce(ReduceOp::Sum, lanes, 2);
  EXPECT_EQ(evaluate(folded, Leaves{}, 0)->i, 10 + 16);
  EXPECT_EQ(evaluate(folded, Leaves{}, 1)->i, 13 + 19);
  EXPECT_EQ(whole(reduce(ReduceOp::Sum, folded)), 10 + 13 + 16 + 19);
}

TEST(Evaluate, AsksItsLeaves) {
  const Expr e = load(2, {iter(1), param(0)}, kIndex);
  Leaves leaves;
  leaves.iter = [](uint32_t i) { return std::optional(int_value(100 + i)); };
  leaves.param = [](uint32_t p) { return std::optional(int_value(7 + p)); };
  leaves.load = [](const Load& l, const std::vector<int64_t>& index, Elem) {
    return std::optional(int_value(l.tensor * 1000000 + index[0] * 1000 + index[1]));
  };
  EXPECT_EQ(evaluate(e, leaves)->i, 2101007);
  EXPECT_EQ(evaluate_index(iter(0) + param(1), {4}, {0, 30}), 34);
  EXPECT_FALSE(evaluate_index(iter(3), {4}, {}));
  EXPECT_FALSE(evaluate_index(e, {4, 4}, {1}));
}

TEST(Evaluate, Functions) {
  EXPECT_EQ(real(unary(UnaryOp::Round, f32(2.5))), 2.0);
  EXPECT_EQ(real(unary(UnaryOp::Floor, f32(-0.5))), -1.0);
  EXPECT_EQ(real(unary(UnaryOp::Ceil, f32(-0.5))), 0.0);
  EXPECT_EQ(real(unary(UnaryOp::Sigmoid, f32(0))), 0.5);
  EXPECT_EQ(real(unary(UnaryOp::Rsqrt, f32(4))), 0.5);
  EXPECT_EQ(real(unary(UnaryOp::Exp, f32(1))), round_to(Elem::F32, std::exp(1.0)));
  EXPECT_EQ(real(unary(UnaryOp::Erf, f32(0.5))), round_to(Elem::F32, std::erf(0.5)));
}

} // namespace
} // namespace kawara::scalar
