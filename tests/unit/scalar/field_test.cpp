#include "scalar/field.h"

#include <gtest/gtest.h>

#include <limits>

// The laws that passes rely on hold in the ring to the last bit; what they may not do changes the
// value.

namespace kawara::scalar {
namespace {

constexpr Elem kFieldElem = Elem::F32;

class FieldLaws : public testing::TestWithParam<uint64_t> {
protected:
  Field field{GetParam()};
  Value a = field.random(kFieldElem, 1), b = field.random(kFieldElem, 2),
        c = field.random(kFieldElem, 3);

  Value op(BinaryOp o, Value x, Value y) const { return *field.apply(o, kFieldElem, x, y); }
  Value fn(UnaryOp o, Value x) const { return field.apply(o, kFieldElem, x); }
  Value plus(Value x, Value y) const { return op(BinaryOp::Add, x, y); }
  Value minus(Value x, Value y) const { return op(BinaryOp::Sub, x, y); }
  Value times(Value x, Value y) const { return op(BinaryOp::Mul, x, y); }
  Value over(Value x, Value y) const { return op(BinaryOp::Div, x, y); }
  Value larger(Value x, Value y) const { return op(BinaryOp::Max, x, y); }
  Value exp(Value x) const { return fn(UnaryOp::Exp, x); }
  Value number(double x) const { return field.literal(x); }
  void expect_same(Value x, Value y) const { EXPECT_TRUE(field.is_same(kFieldElem, x, y)); }
  void expect_other(Value x, Value y) const { EXPECT_FALSE(field.is_same(kFieldElem, x, y)); }
};
INSTANTIATE_TEST_SUITE_P(Seeds, FieldLaws, testing::Range<uint64_t>(1, 21));

TEST_P(FieldLaws, SumsAndProductsInAnyOrder) {
  expect_same(plus(plus(a, b), c), plus(c, plus(b, a)));
  expect_same(times(a, plus(b, c)), plus(times(a, b), times(c, a)));
  expect_same(field.apply_fma(kFieldElem, a, b, c), plus(times(a, b), c));
  expect_same(over(a, b), times(a, over(number(1), b)));
  expect_same(over(times(a, c), times(b, c)), over(a, b));
  expect_same(minus(a, b), plus(a, fn(UnaryOp::Neg, b)));
}

TEST_P(FieldLaws, ADroppedOrDoubledTermShows) {
  expect_other(plus(a, b), a);
  expect_other(plus(plus(a, b), b), plus(a, b));
  expect_other(plus(times(a, b), c), times(a, plus(b, c)));
  expect_other(times(a, a), a);
}

TEST_P(FieldLaws, ExponentialsMultiply) {
  expect_same(exp(plus(a, b)), times(exp(a), exp(b)));
  expect_same(exp(minus(a, a)), number(1));
  // A softmax does not depend on what is subtracted.
  const auto share = [&](Value m) {
    return over(exp(minus(a, m)), plus(exp(minus(a, m)), exp(minus(b, m))));
  };
  expect_same(share(a), share(c));
  expect_other(exp(a), exp(b));
  expect_same(exp(number(-std::numeric_limits<double>::infinity())), number(0));
  expect_same(fn(UnaryOp::Sigmoid, a), over(number(1), plus(number(1), exp(fn(UnaryOp::Neg, a)))));
}

TEST_P(FieldLaws, MaximaInAnyOrderAndAsOftenAsOneLikes) {
  expect_same(larger(larger(a, b), c), larger(b, larger(c, a)));
  expect_same(larger(a, a), a);
  const Value lowest = number(-std::numeric_limits<double>::infinity());
  expect_same(larger(lowest, a), a);
  EXPECT_EQ(op(BinaryOp::Lt, a, b).i + op(BinaryOp::Ge, a, b).i, 1);
  const Value chosen = op(BinaryOp::Lt, a, b).i != 0 ? b : a;
  expect_same(larger(a, b), chosen);
}

TEST_P(FieldLaws, LiteralsAreWhatTheyAreForFloats) {
  expect_same(plus(number(0.5), number(0.25)), number(0.75));
  expect_same(times(number(-3), number(7)), number(-21));
  expect_same(over(number(1), number(8)), number(0.125));
  expect_same(over(number(1), number(35)), number(1.0 / 35)); // folded by a pass
  expect_same(over(number(2), number(19)), number(static_cast<double>(2.0F / 19)));
  expect_other(number(0.1), number(0.1000001));
  expect_same(larger(number(-2), number(3)), number(3));
  expect_same(field.convert(Elem::I64, kFieldElem, int_value(5)), number(5));
  expect_same(field.convert(kFieldElem, Elem::I32, number(5)), number(5));
}

TEST_P(FieldLaws, IntegersThatDependOnNoDataStayNumbers) {
  EXPECT_EQ(field.apply(BinaryOp::FloorDiv, Elem::I64, int_value(-7), int_value(2))->i, -4);
  EXPECT_FALSE(field.apply(BinaryOp::Mod, Elem::I64, int_value(1), int_value(0)));
  const Value sum = *field.apply(BinaryOp::Add, Elem::I32, int_value(3), a);
  EXPECT_TRUE(field.is_same(Elem::I32, sum, plus(a, number(3))));
  // A maximum of integers starts from the lowest.
  const Value lowest = int_value(std::numeric_limits<int32_t>::min());
  EXPECT_TRUE(field.is_same(Elem::I32, *field.apply(BinaryOp::Max, Elem::I32, lowest, a), a));
}

TEST_P(FieldLaws, FunctionsAreTables) {
  expect_same(fn(UnaryOp::Tanh, a), fn(UnaryOp::Tanh, a));
  expect_other(fn(UnaryOp::Tanh, a), fn(UnaryOp::Tanh, b));
  expect_other(fn(UnaryOp::Tanh, a), fn(UnaryOp::Erf, a));
  expect_same(fn(UnaryOp::Rsqrt, a), over(number(1), fn(UnaryOp::Sqrt, a)));
  expect_same(op(BinaryOp::Pow, a, number(2)), times(a, a));
  expect_same(fn(UnaryOp::Floor, number(4)), number(4));
}

} // namespace
} // namespace kawara::scalar
