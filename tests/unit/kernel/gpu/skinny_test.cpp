#include "unit/kernel/gpu/gpu_line.h"

#include "kernel/walk.h"

namespace kawara::kernel {
namespace {

using gpu_line::compile;
using gpu_line::expect_same;
using gpu_line::Line;
using gpu_line::Sizes;

std::string few_rows(const std::string& elem, bool is_along) {
  return "param M, N, K\n"
         "input A: " +
         elem + "[M, K], B: " + elem + (is_along ? "[N, K]" : "[K, N]") +
         ", b: f32[N]\n"
         "output C: " +
         elem +
         "[M, N]\n"
         "temp acc: f32[M, N]\n"
         "acc[i, j] = sum(k, f32(A[i, k]) * f32(" +
         (is_along ? "B[j, k]" : "B[k, j]") +
         "))\n"
         "C[i, j] = max(acc[i, j] + b[j], 0)\n";
}

/// Launches of the kernel.
std::vector<Launch> launches_of(const Kernel& kernel) {
  std::vector<Launch> found;
  visit(kernel.body, [&](const Stmt& stmt) {
    if (const auto* launch = std::get_if<Launch>(&stmt))
      found.push_back(*launch);
  });
  return found;
}

TEST(Skinny, OneLaunchReadsTheMatrixInWholePieces) {
  for (const bool is_along : {true, false}) {
    const Line line =
        compile(few_rows("bf16", is_along), "auto", {{"M", 1}, {"N", 4096}, {"K", 4096}});
    const std::string text = print(line.kernel);
    EXPECT_EQ(launches_of(line.kernel).size(), 1U) << text;
    EXPECT_NE(text.find(is_along ? "f32x8(B[block_x" : "f32x8(B[thread_y"), std::string::npos)
        << text;
    EXPECT_EQ(launches_of(line.kernel)[0].threads[0], is_along ? 64 : 4) << text;
  }
}

TEST(Skinny, SumsAreRightForAFewRowsAndAnySize) {
  for (const bool is_along : {true, false})
    for (const Sizes& sizes :
         {Sizes{{"M", 1}, {"N", 96}, {"K", 256}}, Sizes{{"M", 3}, {"N", 70}, {"K", 300}},
          Sizes{{"M", 4}, {"N", 65}, {"K", 133}}}) {
      expect_same(few_rows("f32", is_along), "auto", sizes);
      const Line line = compile(few_rows("f32", is_along), "auto", sizes);
      EXPECT_EQ(launches_of(line.kernel).size(), 1U) << print(line.kernel);
    }
}

TEST(Skinny, BatchesAndVectorsWithoutRows) {
  const std::string batched = "param H, M, N, K\n"
                              "input A: f32[H, M, K], B: f32[H, N, K]\n"
                              "output C: f32[H, M, N]\n"
                              "C[h, i, j] = sum(k, A[h, i, k] * B[h, j, k])\n";
  expect_same(batched, "auto", {{"H", 2}, {"M", 2}, {"N", 64}, {"K", 160}});
  const std::string vector = "param N, K\n"
                             "input x: f32[K], W: f32[K, N]\n"
                             "output y: f32[N]\n"
                             "y[j] = sum(k, x[k] * W[k, j])\n";
  expect_same(vector, "auto", {{"N", 80}, {"K", 200}});
  EXPECT_EQ(launches_of(compile(vector, "auto", {{"N", 80}, {"K", 200}}).kernel)[0].threads[2], 1);
}

TEST(Skinny, ALongReductionOfASmallResultIsDoneInParts) {
  const Sizes sizes = {{"M", 16}, {"N", 64}, {"K", 1000}};
  const Line line = compile(few_rows("bf16", false), "auto", sizes);
  const std::vector<Launch> launches = launches_of(line.kernel);
  ASSERT_EQ(launches.size(), 2U) << print(line.kernel);
  EXPECT_TRUE(has_async_op(launches[0].body));
  EXPECT_FALSE(has_async_op(launches[1].body));
  expect_same(few_rows("bf16", false), "auto", sizes);
}

TEST(Skinny, ExactReductionsStayInOrder) {
  const std::string text = "numerics exact\n" + few_rows("f32", true);
  expect_same(text, "auto", {{"M", 1}, {"N", 64}, {"K", 128}});
}

} // namespace
} // namespace kawara::kernel
