#include "driver/pipeline.h"
#include "driver/session.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kawara::driver {
namespace {

program::Program parsed(const std::string& text, program::Numerics numerics) {
  auto program = program_of({make_source("tolerance", text), {}, {}, numerics});
  EXPECT_TRUE(program);
  return *std::move(program);
}

/// A product of 64 x 64 matrices.
double tolerance_for(const std::string& operands, const std::string& result,
                     program::Numerics numerics = program::Numerics::Rounding) {
  const std::string text = "input A: " + operands + "[64, 64], B: " + operands +
                           "[64, 64]\noutput C: " + result +
                           "[64, 64]\nC[i, j] = sum(k, A[i, k] * B[k, j])\n";
  return tolerance_of(parsed(text, numerics), {});
}

program::Arrays one_element(scalar::Elem elem, int64_t value) {
  program::Array array(elem, {1});
  array.set(0, scalar::int_value(value));
  return {{"y", array}};
}

TEST(Tolerance, IsNothingForIntegersThatNoFloatDecides) {
  constexpr int64_t kBeyondDoubles = (int64_t{1} << 53) + 1;
  for (const scalar::Elem elem : {scalar::Elem::I64, scalar::Elem::U64})
    EXPECT_TRUE(std::isinf(
        compare(one_element(elem, kBeyondDoubles), one_element(elem, kBeyondDoubles - 1)).worst));
  const auto got = one_element(scalar::Elem::I32, 1000000),
             want = one_element(scalar::Elem::I32, 1000001);
  EXPECT_TRUE(std::isinf(compare(got, want).worst));
  EXPECT_TRUE(std::isinf(
      compare(one_element(scalar::Elem::Bool, 1), one_element(scalar::Elem::Bool, 0)).worst));
  EXPECT_EQ(compare(got, got).worst, 0);
  EXPECT_LT(compare(got, want, Freedom{{"y"}, {}}).worst, 1e-5) << "a float decides it";
}

TEST(Tolerance, KnowsScans) {
  const auto program = parsed("input x: f32[4]\noutput s: f32[4], y: f32[4]\ns[0] = x[0]\n"
                              "for i in range(1, 4):\n    s[i] = s[i - 1] + x[i]\n"
                              "y[i] = x[i]\n",
                              program::Numerics::Rounding);
  EXPECT_EQ(freedom_of(program).scanned, (std::set<std::string>{"s"}));
  program::Array want(scalar::Elem::F32, {2});
  want.set_double(0, 1600);
  program::Array got = want;
  got.set_double(1, 1);
  const auto apart = [&](const Freedom& freedom) {
    return compare({{"s", got}}, {{"s", want}}, freedom).worst;
  };
  EXPECT_DOUBLE_EQ(apart({}), 1);
  EXPECT_DOUBLE_EQ(apart(Freedom{{}, {"s"}}), 0.01);
}

TEST(Tolerance, KnowsIntegersThatAFloatDecides) {
  const auto program = parsed("input x: f32[4], n: i32[4]\n"
                              "output a: i32[4], b: i32[4], c: bool[4], d: i32[4], e: i32[4]\n"
                              "a[i] = n[i] * 2\n"
                              "b[i] = i32(x[i])\n"
                              "c[i] = x[i] > 0\n"
                              "d[i] = b[i] + 1\n"
                              "e[i] = 1 if n[i] > 2 else a[i]\n",
                              program::Numerics::Rounding);
  EXPECT_EQ(freedom_of(program).decided_by_floats, (std::set<std::string>{"b", "c", "d"}));
}

TEST(Tolerance, IsNothingUnderExact) {
  EXPECT_EQ(0, tolerance_for("bf16", "bf16", program::Numerics::Exact));
}

TEST(Tolerance, OfSumsIsThatOfTheTypeTheyAreComputedIn) {
  const double plain = tolerance_for("f32", "f32");
  EXPECT_GT(plain, 0x1p-23);
  EXPECT_LT(plain, 0x1p-12);
  EXPECT_EQ(plain, tolerance_for("bf16", "f32"));
  EXPECT_EQ(plain, tolerance_for("f16", "f32"));
}

TEST(Tolerance, OfANarrowResultIsAFewUnitsOfIt) {
  constexpr double kUnit = 0x1p-7; // of bf16
  const double narrow = tolerance_for("bf16", "bf16");
  EXPECT_GT(narrow, 2 * kUnit) << "one sum may fall on the other side of a rounding";
  EXPECT_LT(narrow, 20 * kUnit) << "a wrong result would pass";
}

TEST(Tolerance, KnowsOfRoundingsOnTheWay) {
  const auto of = [](const std::string& value) {
    return tolerance_of(parsed("input X: f32[8]\noutput Y: f32[8]\nY[i] = " + value + "\n",
                               program::Numerics::Rounding),
                        {});
  };
  const double none = of("exp(X[i])"), one = of("f32(bf16(exp(X[i])))");
  EXPECT_LT(none, 0x1p-15);
  EXPECT_DOUBLE_EQ(one, none + 4 * 0x1p-7);
  EXPECT_DOUBLE_EQ(of("f32(bf16(f32(bf16(exp(X[i]))) + 1))"), none + 8 * 0x1p-7) << "each counts";
  EXPECT_DOUBLE_EQ(of("f32(f16(exp(X[i])))"), none + 4 * 0x1p-10);
  EXPECT_EQ(of("f32(bf16(X[i]))"), of("X[i]")) << "an input is rounded to the same bits";
  const auto stored = [](const std::string& value) {
    return tolerance_of(parsed("input X: f32[8]\noutput Y: bf16[8]\nY[i] = " + value + "\n",
                               program::Numerics::Rounding),
                        {});
  };
  EXPECT_EQ(stored("bf16(exp(X[i]))"), stored("exp(X[i])")) << "a store rounds once";
}

TEST(Tolerance, KnowsThatFastAddsUpInF16) {
  EXPECT_GT(tolerance_for("f16", "f32", program::Numerics::Fast), 0x1p-7);
  EXPECT_EQ(tolerance_for("bf16", "f32", program::Numerics::Fast), tolerance_for("f32", "f32"));
}

TEST(Tolerance, KnowsThatFastMayTransformTiles) {
  const auto of = [](program::Numerics numerics) {
    return tolerance_of(
        parsed("input X: f32[10, 10, 64], W: f32[3, 3, 64, 8]\noutput Y: f32[8, 8, 8]\n"
               "Y[y, x, k] = sum((c, r, s), X[y + r, x + s, c] * W[r, s, c, k])\n",
               numerics),
        {});
  };
  EXPECT_GT(of(program::Numerics::Fast), 1e-3) << "tiles of 4 x 4 are off by 2e-4";
  EXPECT_LT(of(program::Numerics::Fast), 1e-2);
  EXPECT_LT(of(program::Numerics::Rounding), 2e-4);
}

TEST(Tolerance, InputsRoundedElsewhereMoveByOneUnit) {
  program::Arrays inputs;
  inputs.emplace("x", program::Array(scalar::Elem::F32, {100}));
  inputs.emplace("n", program::Array(scalar::Elem::I32, {3}));
  for (int64_t k = 0; k < 100; ++k)
    inputs.at("x").set_double(k, 1.5);
  const program::Arrays moved = perturbed_by_one_ulp(inputs);
  EXPECT_EQ(moved.at("n"), inputs.at("n"));
  int64_t up = 0;
  for (int64_t k = 0; k < 100; ++k) {
    EXPECT_NEAR(moved.at("x").get_double(k), 1.5, 0x1p-22);
    EXPECT_NE(moved.at("x").get_double(k), 1.5);
    up += moved.at("x").get_double(k) > 1.5 ? 1 : 0;
  }
  EXPECT_GT(up, 25);
  EXPECT_LT(up, 75);
}

TEST(Tolerance, ThatRoundingAsksForIsBounded) {
  EXPECT_GT(tolerance_from_rounding(1e-9), 1e-8);
  EXPECT_LT(tolerance_from_rounding(1e-9), 1e-6);
  EXPECT_LE(tolerance_from_rounding(1), 1e-4);
}

} // namespace
} // namespace kawara::driver
