#include "unit/kernel/gpu/gpu_line.h"

#include "kernel/walk.h"

namespace kawara::kernel {
namespace {

using gpu_line::compile;
using gpu_line::Line;
using gpu_line::Sizes;

/// Threads of all blocks of the launch that adds up the products, by default.
int64_t threads_of_sums(const Line& line) {
  int64_t most = 0;
  visit(line.kernel.body, [&](const Stmt& stmt) {
    const auto* launch = std::get_if<Launch>(&stmt);
    if (launch == nullptr)
      return;
    int64_t threads = launch->threads[0] * launch->threads[1] * launch->threads[2];
    for (const Expr& n : launch->blocks)
      threads *= scalar::constant_of(n).value_or(1);
    most = std::max(most, threads);
  });
  return most;
}

Line few_results(const std::string& b, const Sizes& sizes) {
  return compile("param M, N, K\ninput A: bf16[M, K], B: bf16[" + b +
                     "]\noutput C: bf16[M, N]\ntemp acc: f32[M, N]\n"
                     "acc[i, j] = sum(k, f32(A[i, k]) * f32(B[" +
                     (b == "N, K" ? "j, k" : "k, j") + "]))\nC[i, j] = acc[i, j]\n",
                 "auto", sizes);
}

TEST(LongSums, of_few_results_have_many_threads) {
  for (const std::string b : {"N, K", "K, N"})
    for (const Sizes& sizes :
         {Sizes{{"M", 2}, {"N", 24}, {"K", 8264}}, Sizes{{"M", 8}, {"N", 12}, {"K", 5000}},
          Sizes{{"M", 1}, {"N", 5}, {"K", 2048}}})
      EXPECT_GE(threads_of_sums(few_results(b, sizes)), 256) << b << " " << sizes.front().second;
  // Short ones stay with a thread for each result.
  EXPECT_LT(threads_of_sums(few_results("N, K", {{"M", 2}, {"N", 24}, {"K", 200}})), 256);
}

TEST(LongSums, of_few_results_are_right) {
  for (const std::string b : {"N, K", "K, N"}) {
    const Sizes sizes = {{"M", 2}, {"N", 5}, {"K", 1040}};
    const Line line = few_results(b, sizes);
    EXPECT_EQ(line.broken, std::vector<std::string>{});
    const auto worst = gpu_line::difference(line, sizes, 3);
    ASSERT_TRUE(worst) << worst.error() << "\n" << print(line.kernel);
    EXPECT_LE(*worst, 1e-2);
  }
}

} // namespace
} // namespace kawara::kernel
