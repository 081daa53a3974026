#include "kernel/memory/shrink_buffers.h"

#include <gtest/gtest.h>

namespace kawara::kernel {
namespace {

using scalar::int_lit;
using scalar::param;
using scalar::var;

const scalar::Type kFloat{scalar::Elem::F32, 1};

/// T: f32[N, M], a workspace, with loops over strips of it.
class ShrinkBuffers : public testing::Test {
protected:
  ShrinkBuffers() {
    kernel.params = {{"N", {}}, {"M", {}}};
    kernel.buffers = {
        {"A", scalar::Elem::F32, {param(0), param(1)}, Scope::Argument, program::Role::Output},
        {"T", scalar::Elem::F32, {param(0), param(1)}, Scope::Workspace, program::Role::Temp}};
    strip = add_variable(kernel, "s", scalar::kIndex);
    row = add_variable(kernel, "r", scalar::kIndex);
    column = add_variable(kernel, "c", scalar::kIndex);
  }

  /// for r in range(stride*s, stride*s + rows): for c in range(0, M): T[r, c] = 1
  Block fill(int64_t stride, int64_t rows) const {
    return block_of(
        over(row, var(strip) * int_lit(stride), var(strip) * int_lit(stride) + int_lit(rows),
             block_of(over(
                 column, int_lit(0), param(1),
                 block_of(Store{
                     1, {var(row), var(column)}, ReduceOp::None, scalar::float_lit(1, kFloat)})))));
  }

  For strips(bool is_parallel, Block body) const {
    For loop = over(strip, int_lit(0), param(0), block_of(Allocate{1, std::move(body)}));
    loop.marks.is_parallel = is_parallel;
    return loop;
  }

  static For over(uint32_t id, Expr lo, Expr hi, Block body) {
    For loop;
    loop.var = id;
    loop.lo = std::move(lo);
    loop.hi = std::move(hi);
    loop.body = std::move(body);
    return loop;
  }

  std::string shrunk() const {
    const Kernel done = shrink_buffers(kernel);
    EXPECT_EQ(spec(done), std::vector<std::string>{});
    const std::string text = print(done);
    return text.substr(text.find("f32[N, M]\n") + 10); // after the output
  }

  Kernel kernel;
  uint32_t strip = 0, row = 0, column = 0;
};

TEST_F(ShrinkBuffers, KeepsTheWindowAndLeavesOtherDimensionsWhole) {
  kernel.body = block_of(strips(false, fill(8, 10)));
  EXPECT_EQ(shrunk(), "  workspace T: f32[10, M]\n"
                      "  for s in range(0, N):\n"
                      "    for r in range(s * 8, s * 8 + 10):\n"
                      "      for c in range(0, M):\n"
                      "        T[r - s * 8, c] = 1.0\n");
}

TEST_F(ShrinkBuffers, MakesBuffersOfParallelLoopsPrivate) {
  kernel.body = block_of(strips(true, fill(8, 10)));
  EXPECT_EQ(shrunk(), "  for s in range(0, N):  # parallel\n"
                      "    private T: f32[10, M]:\n"
                      "      for r in range(s * 8, s * 8 + 10):\n"
                      "        for c in range(0, M):\n"
                      "          T[r - s * 8, c] = 1.0\n");
}

TEST_F(ShrinkBuffers, TakesTheLargestWindowOfSeveralAllocates) {
  kernel.body = {strips(false, fill(8, 4)), strips(false, fill(2, 6)), strips(false, fill(1, 5))};
  const std::string text = shrunk();
  EXPECT_NE(text.find("workspace T: f32[6, M]"), std::string::npos) << text;
  EXPECT_NE(text.find("T[r - s * 8, c]"), std::string::npos) << text;
  EXPECT_NE(text.find("T[r - s * 2, c]"), std::string::npos) << text;
  EXPECT_NE(text.find("T[r - s, c]"), std::string::npos) << text;
}

TEST_F(ShrinkBuffers, StaysWholeWhereOneAllocateHasNoWindow) {
  Block whole = block_of(over(
      row, int_lit(0), param(0),
      block_of(Store{1, {var(row), int_lit(0)}, ReduceOp::None, scalar::float_lit(1, kFloat)})));
  for (const bool is_last : {true, false}) {
    kernel.body = is_last ? Block{strips(false, fill(8, 4)), strips(false, whole)}
                          : Block{strips(false, whole), strips(false, fill(8, 4))};
    const std::string text = shrunk();
    EXPECT_NE(text.find("workspace T: f32[N, M]"), std::string::npos) << text;
    EXPECT_NE(text.find("T[r, c]"), std::string::npos) << text;
  }
}

TEST_F(ShrinkBuffers, OnePartInParallelMakesThemAllPrivate) {
  kernel.body = {strips(false, fill(8, 4)), strips(true, fill(8, 4))};
  const std::string text = shrunk();
  EXPECT_NE(text.find("private T: f32[4, M]"), std::string::npos) << text;
  const size_t first = text.find("private T");
  EXPECT_NE(text.find("private T", first + 1), std::string::npos) << text;
}

TEST_F(ShrinkBuffers, DoesNotGrowASmallBuffer) {
  kernel.buffers[1].shape[0] = int_lit(3);
  kernel.body = block_of(strips(false, fill(0, 10)));
  EXPECT_NE(shrunk().find("workspace T: f32[3, M]"), std::string::npos);
}

} // namespace
} // namespace kawara::kernel
