#include "unit/kernel/gpu/gpu_line.h"

#include "kernel/walk.h"

namespace kawara::kernel {
namespace {

using gpu_line::compile;
using gpu_line::expect_same;

size_t loops_of(const Kernel& kernel) {
  size_t count = 0;
  visit(kernel.body, [&](const Stmt& stmt) { count += std::get_if<For>(&stmt) != nullptr; });
  return count;
}

bool shares_elements(const Kernel& kernel) {
  bool found = false;
  visit(kernel.body, [&](const Stmt& stmt) {
    if (const auto* allocate = std::get_if<Allocate>(&stmt))
      found |= kernel.buffers[allocate->buffer].scope == Scope::Shared;
  });
  return found;
}

std::string softmax_of(const std::string& elem) {
  return "param M, N\n"
         "input X: " +
         elem + "[M, N]\noutput Y: " + elem +
         "[M, N]\n"
         "temp m: f32[M], s: f32[M]\n"
         "assume N >= 1\n"
         "m[i] = max(j, f32(X[i, j]))\n"
         "s[i] = sum(j, exp(X[i, j] - m[i]))\n"
         "Y[i, j] = exp(X[i, j] - m[i]) / s[i]\n";
}

TEST(GuardedUnroll, RowsOfAnyLengthStayInRegisters) {
  // One element at a time, two, and groups of which not all threads have the same number; a warp
  // and a block to a row.
  for (const std::string elem : {"f32", "bf16"})
    for (const int64_t columns : {75, 202, 333, 1000, 1003, 2100, 2999}) {
      const gpu_line::Sizes sizes{{"M", 5}, {"N", columns}};
      const auto line = compile(softmax_of(elem), "auto", sizes);
      EXPECT_EQ(loops_of(line.kernel), 0U) << print(line.kernel);
      EXPECT_FALSE(shares_elements(line.kernel)) << print(line.kernel);
      const auto worst = gpu_line::difference(line, sizes, 1);
      ASSERT_TRUE(worst) << worst.error();
      EXPECT_LE(*worst, elem == "f32" ? 1e-5 : 1e-2) << elem << " " << columns;
    }
}

TEST(GuardedUnroll, LoopsWithoutKnownEndsStay) {
  const gpu_line::Sizes sizes{{"M", 3}, {"N", 75}};
  const auto line = compile(softmax_of("f32"), "auto", sizes, false);
  EXPECT_GT(loops_of(line.kernel), 0U) << print(line.kernel);
}

TEST(GuardedUnroll, LoopsThatDifferMuchStay) {
  // Threads have 1 to 16 iterations.
  const std::string text = "input A: f32[16]\n"
                           "output B: f32[16]\n"
                           "for i in range(16):\n"
                           "    B[i] = 0\n"
                           "for i in range(16):\n"
                           "    for j in range(i + 1):\n"
                           "        B[i] += A[j]\n";
  const std::string directives = "bind(S0.i, thread.x); bind(S1.i, thread.x); unroll(S1.j)";
  const auto line = compile(text, directives, {});
  EXPECT_EQ(loops_of(line.kernel), 1U) << print(line.kernel);
  expect_same(text, directives, {});
}

} // namespace
} // namespace kawara::kernel
