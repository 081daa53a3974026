#include "unit/kernel/gpu/gpu_line.h"

#include "kernel/walk.h"

namespace kawara::kernel {
namespace {

using gpu_line::Line;
using gpu_line::Sizes;

const std::string kSoftmax = "param M, N\ninput X: f32[M, N]\noutput Y: f32[M, N]\n"
                             "temp m: f32[M], s: f32[M]\nassume N >= 1\n"
                             "m[i] = max(j, X[i, j])\ns[i] = sum(j, exp(X[i, j] - m[i]))\n"
                             "Y[i, j] = exp(X[i, j] - m[i]) / s[i]\n";

/// Threads along a row, and rows of a block.
std::pair<int64_t, int64_t> threads_of(const Kernel& kernel) {
  std::pair<int64_t, int64_t> threads{0, 0};
  visit(kernel.body, [&](const Stmt& stmt) {
    if (const auto* launch = std::get_if<Launch>(&stmt))
      threads = {launch->threads[0], launch->threads[1]};
  });
  return threads;
}

TEST(ShortRows, share_a_warp) {
  // Eight groups of four elements, and 256 threads to a block.
  const auto threads_for = [](int64_t rows, int64_t columns) {
    return threads_of(gpu_line::compile(kSoftmax, "auto", {{"M", rows}, {"N", columns}}).kernel);
  };
  EXPECT_EQ(threads_for(9000, 32), (std::pair<int64_t, int64_t>(8, 32)));
  EXPECT_EQ(threads_for(40000, 16).first, 4);
  // With many rows a thread has two groups, and fewer shuffles.
  EXPECT_EQ(threads_for(40000, 32), (std::pair<int64_t, int64_t>(4, 64)));
  // 37 groups: 16 threads leave 11 of 48 places empty, 32 threads 27 of 64.
  EXPECT_EQ(threads_for(40000, 148).first, 16);
  EXPECT_EQ(threads_for(300, 148).first, 32);
}

TEST(ShortRows, longer_rows_have_threads_that_keep_them) {
  const auto threads_for = [](int64_t rows, int64_t columns) {
    return threads_of(gpu_line::compile(kSoftmax, "auto", {{"M", rows}, {"N", columns}}).kernel)
        .first;
  };
  EXPECT_EQ(threads_for(3000, 1552), 128);
  EXPECT_EQ(threads_for(30, 1552), 256);
  EXPECT_EQ(threads_for(744, 11739), 256);
  EXPECT_EQ(threads_for(744, 25579), 512);
  EXPECT_EQ(threads_for(744, 39871), 1024);
}

TEST(ShortRows, are_right) {
  for (const int64_t n : {8, 12, 21, 32, 40}) {
    const Sizes sizes = {{"M", 67}, {"N", n}};
    const Line line = gpu_line::compile(kSoftmax, "auto", sizes);
    EXPECT_EQ(line.broken, std::vector<std::string>{});
    const auto worst = gpu_line::difference(line, sizes, 3);
    ASSERT_TRUE(worst) << worst.error() << "\n" << print(line.kernel);
    EXPECT_LE(*worst, 1e-5) << n << "\n" << print(line.kernel);
  }
}

} // namespace
} // namespace kawara::kernel
