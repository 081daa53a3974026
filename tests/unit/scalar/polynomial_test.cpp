#include "scalar/expand/expansion.h"
#include "scalar/expand/polynomial.h"

#include <gtest/gtest.h>

namespace kawara::scalar {
namespace {

constexpr Type kFloat{Elem::F32, 1};
Expr x() { return load(0, {iter(0)}, kFloat); }
Expr y() { return load(1, {}, kFloat); }
Expr number(double value) { return float_lit(value, kFloat); }

TEST(Polynomial, collects_like_terms) {
  EXPECT_TRUE(equal(polynomial_of(x() + x()), polynomial_of(number(2) * x())));
  EXPECT_TRUE(polynomial_of(x() * y() - y() * x()).empty());
  EXPECT_FALSE(equal(polynomial_of(x()), polynomial_of(y())));
}

TEST(Polynomial, multiplies_out) {
  EXPECT_TRUE(
      equal(polynomial_of(y() * (x() - number(3))), polynomial_of(x() * y() - number(3) * y())));
}

TEST(Polynomial, divides_by_literals_only) {
  EXPECT_TRUE(equal(polynomial_of(binary(BinaryOp::Div, x(), number(4))),
                    polynomial_of(x() * number(0.25))));
  EXPECT_EQ(polynomial_of(binary(BinaryOp::Div, x(), y()))[0].atoms.size(), 1u);
}

TEST(Polynomial, takes_a_linear_atom_apart) {
  const Linear parts = linear_in(polynomial_of(x() * y() - number(2) * x() + y()), x());
  EXPECT_TRUE(parts.is_linear);
  EXPECT_TRUE(equal(parts.slope, polynomial_of(y() - number(2))));
  EXPECT_TRUE(equal(parts.rest, polynomial_of(y())));
  EXPECT_FALSE(linear_in(polynomial_of(x() * x()), x()).is_linear);
}

TEST(Polynomial, knows_constants) {
  EXPECT_EQ(constant_of(polynomial_of(number(2) * number(3))), 6.0);
  EXPECT_EQ(constant_of(polynomial_of(x() - x())), 0.0);
  EXPECT_EQ(constant_of(polynomial_of(x())), std::nullopt);
}

TEST(Polynomial, becomes_an_expression_again) {
  const Polynomial p = polynomial_of(number(2) * x() * y() + y());
  EXPECT_TRUE(equal(polynomial_of(expr_of(p, kFloat)), p));
  EXPECT_TRUE(equal(expr_of({}, kFloat), zero_of(kFloat)));
}

TEST(ElementBelowExp, is_what_is_subtracted) {
  const auto exp_of = [](const Expr& e) { return unary(UnaryOp::Exp, e); };
  const Load* found = element_below_exp(exp_of(number(2) * x() - y()));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->tensor, 1U);
  EXPECT_EQ(element_below_exp(exp_of(x() + y())), nullptr);
  EXPECT_EQ(element_below_exp(exp_of(x() - number(2))), nullptr) << "no element";
  EXPECT_EQ(element_below_exp(unary(UnaryOp::Log, x() - y())), nullptr);
  EXPECT_EQ(element_below_exp(x() - y()), nullptr);
}

} // namespace
} // namespace kawara::scalar
