#include "explain/characterise.h"

#include <gtest/gtest.h>

namespace kawara::explain {
namespace {

Characteristics of(const std::string& text) {
  const auto program = program::parse(make_source("kernel.kw", text));
  EXPECT_TRUE(program);
  const auto made = characteristics(*program, {});
  EXPECT_TRUE(made);
  return *made;
}

const Touched& touched(const Characteristics& all, uint32_t tensor) {
  for (const Touched& each : all.tensors)
    if (each.tensor == tensor)
      return each;
  ADD_FAILURE() << "nothing touches tensor " << tensor;
  return all.tensors.front();
}

TEST(Characterise, CountsEveryLoadOfAProductAndItsSumsOnce) {
  const Characteristics made = of("input A: f32[4, 8], B: f32[8, 16]\noutput C: f32[4, 16]\n"
                                  "for i in range(4):\n    for j in range(16):\n"
                                  "        C[i, j] = 0\n        for k in range(8):\n"
                                  "            C[i, j] += A[i, k] * B[k, j]\n");
  EXPECT_EQ(touched(made, 0).accesses, 4 * 8 * 16);
  EXPECT_EQ(touched(made, 0).elements, 4 * 8);
  EXPECT_EQ(touched(made, 1).elements, 8 * 16);
  EXPECT_EQ(touched(made, 2).accesses, 4 * 16);
  EXPECT_EQ(made.accesses, 4.0 * (2 * 4 * 8 * 16 + 4 * 16));
  EXPECT_EQ(made.unique, 4.0 * (4 * 8 + 8 * 16 + 4 * 16));
  EXPECT_EQ(made.sums, 4 * 16);
  EXPECT_EQ(made.operations, 2 * 4 * 8 * 16);
}

/// A product of some size repeats its elements more than four times, an element-wise kernel never.
TEST(Characterise, RepeatsProductsAndNotMaps) {
  const Characteristics product =
      of("input A: f32[32, 32], B: f32[32, 32]\noutput C: f32[32, 32]\n"
         "for i in range(32):\n    for j in range(32):\n        C[i, j] = 0\n"
         "        for k in range(32):\n            C[i, j] += A[i, k] * B[k, j]\n");
  EXPECT_GT(product.repeat(), 4);
  const Characteristics map = of("input A: f32[32, 32]\noutput C: f32[32, 32]\n"
                                 "for i in range(32):\n    for j in range(32):\n"
                                 "        C[i, j] = max(A[i, j], 0) + A[i, j]\n");
  EXPECT_EQ(map.repeat(), 1);
}

TEST(Characterise, LeavesPaddingAndTempsOut) {
  const Characteristics made = of("input X: f32[5]\noutput Y: f32[5]\ntemp T: f32[5]\n"
                                  "for i in range(5):\n    T[i] = X[i] * 2\n"
                                  "for i in range(5):\n    Y[i] = T[i]\n");
  EXPECT_EQ(made.tensors.size(), 2U);
  EXPECT_EQ(made.accesses, made.unique);
}

TEST(Characterise, CountsStridedReadsExactly) {
  const Characteristics made = of("input X: f32[9]\noutput Y: f32[4]\n"
                                  "for i in range(4):\n    Y[i] = 0\n"
                                  "    for k in range(2):\n        Y[i] += X[2 * i + k]\n");
  EXPECT_EQ(touched(made, 0).accesses, 8);
  EXPECT_EQ(touched(made, 0).elements, 8);
  EXPECT_TRUE(touched(made, 0).is_exact);
}

/// A number stays at hand; what is read and overwritten goes through memory both ways.
TEST(Characterise, CountsNumbersOnceAndInoutsTwice) {
  const Characteristics made = of("input s: f32, X: f32[10]\ninout Y: f32[10]\n"
                                  "for i in range(10):\n    Y[i] = Y[i] * s + X[i]\n");
  EXPECT_EQ(touched(made, 0).accesses, 1);
  EXPECT_EQ(made.accesses, 4.0 * (1 + 10 + 20));
  EXPECT_EQ(made.unique, 4.0 * (1 + 10 + 10));
  EXPECT_EQ(made.moved, 4.0 * (1 + 10 + 20));
}

TEST(Characterise, SaysWhereDataDecide) {
  const Characteristics made = of("input I: i64[3], X: f32[100]\noutput Y: f32[3]\n"
                                  "for i in range(3):\n    Y[i] = X[I[i]]\n");
  EXPECT_EQ(touched(made, 1).elements, 3);
  EXPECT_FALSE(touched(made, 1).is_exact);
}

/// An element-wise kernel that writes elsewhere shares exactly its input with the kernel before it.
TEST(Overlap, OfAMapThatFollowsIsItsInput) {
  const Overlap made = overlap_of(300, 200, 100);
  EXPECT_EQ(made.of_second, 0.5);
  EXPECT_EQ(made.of_first, 100.0 / 300);
  EXPECT_EQ(made.of_union, 0.25);
  EXPECT_EQ(overlap_of(300, 100, 100).of_second, 1);
  EXPECT_EQ(overlap_of(0, 0, 0).of_union, 0);
}

} // namespace
} // namespace kawara::explain
