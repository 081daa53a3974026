#include "unit/kernel/line.h"

#include "kernel/vector/transpose_stores.h"

namespace kawara {
namespace {

/// A product whose result's rows are short, so that its lanes lie across them, and what follows it.
std::string product_and(const std::string& value, int64_t columns) {
  const std::string n = std::to_string(columns);
  return "input X: f32[24, " + n + "], R: f32[48, " + n + "]\nconst W: f32[48, 24], B: f32[48]\n" +
         "const low: f32, high: f32\noutput Y: f32[48, " + n + "]\ntemp T: f32[48, " + n +
         "]\n\nT[m, o] = sum(c, X[c, o] * W[m, c])\nY[m, o] = " + value + "\n";
}

kernel::Kernel optimised(const std::string& text) {
  return kernel::optimise(line::compile(text, "auto").kernel, line::test_cpu());
}

TEST(TransposedStores, WhatFollowsATileAcrossTheRowsRunsAlongThem) {
  const std::string text = kernel::print(optimised(product_and("max(T[m, o] + B[m], low)", 7)));
  EXPECT_TRUE(line::has(text, "max(T_tile[ramp(")) << text;
  EXPECT_FALSE(line::has(text, "workspace T:")) << text;
  EXPECT_FALSE(line::has(text, "T[")) << text;
}

TEST(TransposedStores, ComputeTheSame) {
  for (const int64_t columns : {7, 10, 21})
    for (const char* value : {"min(max(T[m, o] + B[m], low), high)", "R[m, o] + (T[m, o] + B[m])"})
      line::expect_same(product_and(value, columns), "auto", {{}});
}

TEST(TransposedStores, ANestThatReadsWhatItStoresStays) {
  const std::string text = "inout Y: f32[16, 4]\n\nfor j in range(4):\n    for i in range(16):\n"
                           "        Y[i, j] = Y[i, j] * 2\n";
  const line::Line made = line::compile(text, "vectorize(S0.i, 4)");
  EXPECT_EQ(kernel::print(kernel::transpose_stores(made.kernel)), kernel::print(made.kernel));
}

TEST(TransposedStores, ANestIsTransposedByItself) {
  const std::string text = "input X: f32[16], Z: f32[4]\noutput Y: f32[16, 4]\n\n"
                           "for j in range(4):\n    for i in range(16):\n"
                           "        Y[i, j] = X[i] * Z[j]\n";
  const line::Line made = line::compile(text, "vectorize(S0.i, 4)");
  const std::string transposed = kernel::print(kernel::transpose_stores(made.kernel));
  EXPECT_LT(transposed.find("for i in"), transposed.find("for j in")) << transposed;
  EXPECT_TRUE(line::has(transposed, "vector(4)")) << transposed;
  line::expect_same(text, "vectorize(S0.i, 4)", {{}});
}

} // namespace
} // namespace kawara
