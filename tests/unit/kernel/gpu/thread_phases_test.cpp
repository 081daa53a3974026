#include "kernel/gpu/thread_phases.h"

#include "unit/kernel/gpu/gpu_line.h"

namespace kawara::kernel {
namespace {

/// The number of elements under a window, of which one is in the image, beside rows that several
/// blocks have: only the first block has the iteration that counts it.
TEST(ThreadPhases, BlocksWithoutAnIterationLeaveTheElementToOthers) {
  const std::string text = "input X: f32[130, 3]\n"
                           "output Y: f32[130, 3]\n"
                           "temp C: f32[1], T: f32[130, 3]\n"
                           "C[0] = 0\n"
                           "for k in range(130):\n"
                           "  if k >= 1 and k < 2:\n"
                           "    C[0] += 1\n"
                           "  for j in range(3):\n"
                           "    T[k, j] = X[k, j]\n"
                           "for k in range(130):\n"
                           "  for j in range(3):\n"
                           "    Y[k, j] = T[k, j] / C[0]\n";
  const std::string directives = "split(S1.k, 128); bind(S1.k.0, block.x); bind(S1.k.1, thread.x)";
  gpu_line::expect_same(text, directives, {});
  const std::string kernel = print(gpu_line::compile(text, directives, {}).kernel);
  EXPECT_NE(kernel.find("has_part"), std::string::npos) << kernel;
}

TEST(ThreadPhases, ElementsOfOneBlockNeedNoQuestion) {
  const auto line = gpu_line::compile("input X: f32[7, 300]\n"
                                      "output Y: f32[7]\n"
                                      "Y[i] = sum(j, X[i, j])\n",
                                      "auto", {});
  EXPECT_EQ(print(line.kernel).find("has_part"), std::string::npos) << print(line.kernel);
}

} // namespace
} // namespace kawara::kernel
