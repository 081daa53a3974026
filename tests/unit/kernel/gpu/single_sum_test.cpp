#include "unit/kernel/gpu/gpu_line.h"

#include "kernel/walk.h"

// One result of many terms: no loop stands around the sum.

namespace kawara::kernel {
namespace {

using gpu_line::Line;

std::string single(const std::string& how) {
  return "param N\ninput x: f32[N]\noutput s: f32\nassume N >= 1\ns = " + how + "(j, x[j])\n";
}

/// Most blocks and threads of a launch, after the result was found right.
std::pair<int64_t, int64_t> launched(const std::string& how, int64_t terms) {
  const gpu_line::Sizes sizes = {{"N", terms}};
  const Line line = gpu_line::compile(single(how), "auto", sizes);
  EXPECT_EQ(line.broken, std::vector<std::string>{});
  const auto worst = gpu_line::difference(line, sizes, 3);
  EXPECT_TRUE(worst) << print(line.kernel);
  EXPECT_LE(worst ? *worst : 1, 1e-6 * static_cast<double>(terms)) << print(line.kernel);
  int64_t blocks = 0, threads = 0;
  visit(line.kernel.body, [&](const Stmt& stmt) {
    const auto* launch = std::get_if<Launch>(&stmt);
    if (launch == nullptr)
      return;
    threads = std::max(threads, launch->threads[0]);
    blocks = std::max(blocks, scalar::constant_of(launch->blocks[0]).value_or(0));
  });
  return {blocks, threads};
}

TEST(SingleSum, is_added_up_by_the_threads_of_a_block) {
  for (const std::string how : {"sum", "max"}) {
    const auto [blocks, threads] = launched(how, 3001);
    EXPECT_EQ(blocks, 1);
    EXPECT_EQ(threads, 512);
  }
}

TEST(SingleSum, of_many_terms_is_added_up_in_parts_by_blocks) {
  EXPECT_GE(launched("sum", 40003).first, 8);
}

TEST(SingleSum, of_a_few_terms_stays_with_one_thread) { EXPECT_EQ(launched("sum", 100).second, 1); }

} // namespace
} // namespace kawara::kernel
