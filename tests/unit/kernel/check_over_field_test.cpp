#include "kernel/interpret/check_over_field.h"

#include "kernel/interpret/edge_sizes.h"
#include "kernel/walk.h"
#include "unit/kernel/line.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kawara::kernel {
namespace {

const std::string kTwice = "param M, N\n"
                           "input A: f32[M, N]\n"
                           "output C: f32[M, N]\n"
                           "C[i, j] = A[i, j] * 2\n";
const std::string kEdgeTiles = "tile(i=4, j=8); vectorize(j.1, 4)";

bool has_value_at(const std::vector<std::vector<int64_t>>& sizes, size_t param, int64_t value) {
  return std::any_of(sizes.begin(), sizes.end(),
                     [&](const std::vector<int64_t>& at) { return at[param] == value; });
}

TEST(EdgeSizes, MeetTheEdgesOfEveryTile) {
  const line::Line made = line::compile(kTwice, kEdgeTiles);
  const auto sizes = edge_sizes(made.program, made.kernel);
  for (const int64_t value : {0, 1, 3, 4, 5, 9})
    EXPECT_TRUE(has_value_at(sizes, 0, value)) << value;
  for (const int64_t value : {0, 1, 7, 8, 9, 17})
    EXPECT_TRUE(has_value_at(sizes, 1, value)) << value;
}

TEST(EdgeSizes, KeepWhatIsAssumed) {
  const line::Line made = line::compile("param N, M\nassume N >= 3\nassume M == 6\n"
                                        "input A: f32[N]\noutput B: f32[N]\nB[i] = A[i] * 2\n",
                                        "split(i, 4)");
  for (const auto& at : edge_sizes(made.program, made.kernel)) {
    EXPECT_GE(at[0], 3);
    EXPECT_EQ(at[1], 6);
  }
}

/// What the check says of the kernel after a change to its loops.
std::string mismatch_after(const std::function<void(For&)>& change) {
  const line::Line made = line::compile(kTwice, kEdgeTiles);
  Kernel kernel = optimise(made.kernel, line::test_cpu(), PassOptions{.keeps_functions = true});
  const auto sizes = edge_sizes(made.program, made.kernel);
  kernel.body = rewrite(kernel.body, [&](Stmt stmt) {
    if (auto* loop = std::get_if<For>(&stmt))
      change(*loop);
    return block_of(std::move(stmt));
  });
  const FieldCheck check = check_over_field(made.program, kernel, sizes);
  EXPECT_GT(check.checked, 0U);
  return check.wrong.value_or("");
}

TEST(CheckOverField, IsContentWithAFinishedKernel) {
  EXPECT_EQ(mismatch_after([](For&) {}), "");
}

TEST(CheckOverField, MissesNoInstance) {
  bool is_done = false;
  const std::string what = mismatch_after([&](For& loop) { // the innermost loop of the first nest
    if (!std::exchange(is_done, true))
      loop.hi = scalar::simplify(loop.hi - scalar::int_lit(1));
  });
  EXPECT_NE(what, "");
}

TEST(CheckOverField, LeavesOutWhatTakesTooLong) {
  const line::Line made = line::compile(kTwice);
  const FieldCheck check =
      check_over_field(made.program, made.kernel, {{2, 2}, {90, 90}}, {.instances = 1000});
  EXPECT_EQ(check.checked, 1U);
  EXPECT_EQ(check.left_out, 1U);
}

/// Passes that rewrite exponentials and quotients keep the laws: nothing of them has to be left
/// out.
TEST(CheckOverField, UnderstandsSoftmaxAndReciprocals) {
  const std::string softmax = "param M, N\nassume N >= 1\ninput X: f32[M, N]\noutput Y: f32[M, N]\n"
                              "temp m: f32[M], s: f32[M]\n"
                              "m[i] = max(j, X[i, j])\n"
                              "s[i] = sum(j, exp(X[i, j] - m[i]))\n"
                              "Y[i, j] = exp(X[i, j] - m[i]) / s[i]\n";
  const line::Line made = line::compile(softmax, "auto");
  const Kernel kernel =
      optimise(made.kernel, line::test_cpu(), PassOptions{.keeps_functions = true});
  const FieldCheck check =
      check_over_field(made.program, kernel, edge_sizes(made.program, made.kernel));
  EXPECT_GT(check.checked, 5U);
  EXPECT_EQ(check.wrong.value_or(""), "");
}

} // namespace
} // namespace kawara::kernel
