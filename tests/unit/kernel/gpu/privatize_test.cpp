#include "unit/kernel/gpu/gpu_line.h"

#include "kernel/walk.h"

namespace kawara::kernel {
namespace {

using gpu_line::compile;
using gpu_line::expect_same;

size_t barriers_in(const Kernel& kernel) {
  size_t count = 0;
  visit(kernel.body, [&](const Stmt& stmt) { count += std::get_if<Barrier>(&stmt) != nullptr; });
  return count;
}

bool has_shared_memory(const Kernel& kernel) {
  bool found = false;
  visit(kernel.body, [&](const Stmt& stmt) {
    if (const auto* allocate = std::get_if<Allocate>(&stmt))
      found |= kernel.buffers[allocate->buffer].scope == Scope::Shared;
  });
  return found;
}

TEST(Privatize, RowsOfASoftmaxNeedNoSharedElements) {
  // A block for each row, a warp, and several warps to a block.
  for (const auto& [rows, columns] : {std::pair(5, 2048), std::pair(5, 512), std::pair(264, 128)}) {
    const gpu_line::Sizes sizes{{"M", rows}, {"N", columns}};
    const auto line = compile(gpu_line::kSoftmax, "auto", sizes);
    EXPECT_FALSE(has_shared_memory(line.kernel)) << print(line.kernel);
    EXPECT_EQ(barriers_in(line.kernel), 0U) << print(line.kernel);
    const auto worst = gpu_line::difference(line, sizes, 1);
    ASSERT_TRUE(worst) << worst.error();
    EXPECT_LE(*worst, 1e-5);
  }
}

TEST(Privatize, ChainsOfScalarsAreCopied) {
  const std::string text = "param M, N\n"
                           "input X: f32[M, N], g: f32[N], b: f32[N]\n"
                           "output Y: f32[M, N]\n"
                           "temp mean: f32[M], var: f32[M]\n"
                           "assume N >= 1\n"
                           "mean[i] = sum(j, X[i, j]) / N\n"
                           "var[i] = sum(j, (X[i, j] - mean[i]) * (X[i, j] - mean[i])) / N\n"
                           "Y[i, j] = (X[i, j] - mean[i]) / sqrt(var[i] + 0.00001) * g[j] + b[j]\n";
  const auto line = compile(text, "auto", {{"M", 5}, {"N", 2048}});
  EXPECT_FALSE(has_shared_memory(line.kernel)) << print(line.kernel);
  expect_same(text, "auto", {{"M", 5}, {"N", 2048}});
  expect_same(text, "auto", {{"M", 11}, {"N", 768}});
}

TEST(Privatize, ResultsAreStoredByOneThread) {
  // The mean is also a result: its element in memory has one writer, its copies have all.
  const std::string text = "param M, N\n"
                           "input X: f32[M, N]\n"
                           "output Y: f32[M, N], mean: f32[M]\n"
                           "temp total: f32[M]\n"
                           "assume N >= 1\n"
                           "for i in range(M):\n"
                           "    total[i] = 0\n"
                           "    for j in range(N):\n"
                           "        total[i] += X[i, j]\n"
                           "    mean[i] = total[i] / N\n"
                           "    for j in range(N):\n"
                           "        Y[i, j] = X[i, j] - total[i] / N\n";
  expect_same(text, "auto", {{"M", 5}, {"N", 2048}});
  expect_same(text, "auto", {{"M", 9}, {"N", 96}});
}

TEST(Privatize, ElementsThatThreadsFillForEachOtherStayShared) {
  const std::string text = "param N\n"
                           "input A: f32[N]\n"
                           "output B: f32[N]\n"
                           "temp T: f32[N]\n"
                           "for i in range(N):\n"
                           "    T[i] = A[i] * 2\n"
                           "for i in range(N):\n"
                           "    B[i] = T[N - 1 - i]\n";
  const auto line = compile(text, "bind(S0.i, thread.x); bind(S1.i, thread.x)", {{"N", 8}});
  EXPECT_EQ(barriers_in(line.kernel), 1U);
}

} // namespace
} // namespace kawara::kernel
