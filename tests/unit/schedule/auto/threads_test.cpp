#include "unit/schedule/programs.h"

#include "schedule/auto/product/thread_grid.h"
#include "schedule/tree/extent.h"

#include <fmt/format.h>

namespace kawara::schedule {
namespace {

Environment with_cores(int64_t cores) {
  Environment environment = test_environment();
  environment.cpu.cores = cores;
  return environment;
}

Schedule for_environment(const std::string& text, const Environment& environment) {
  const Schedule start = initial(text);
  auto result = apply(start, Auto{}, environment);
  EXPECT_TRUE(static_cast<bool>(result));
  return result ? *std::move(result) : start;
}

Schedule for_cores(const std::string& text, int64_t cores) {
  return for_environment(text, with_cores(cores));
}

std::string product_text(int rows, int columns, int depth) {
  return fmt::format("input A: f32[{0}, {2}]\nconst B: f32[{2}, {1}]\noutput C: f32[{0}, {1}]\n"
                     "C[i, j] = sum(k, A[i, k] * B[k, j])\n",
                     rows, columns, depth);
}

/// Iterations that threads share around a statement: of its outermost parallel loop, and those it
/// counts through.
int64_t shared_iterations(const Schedule& schedule, poly::StmtId id) {
  int64_t count = 1;
  for (const poly::LoopId loop : poly::path_of(schedule.order, id))
    if (schedule.order[loop].marks.is_parallel)
      count *= longest_run(schedule.scop, schedule.order, loop).value_or(1);
  return count;
}

/// Of `id`'s loops that run in parallel, are there at least so many iterations for every core?
bool keeps_busy(const Schedule& schedule, poly::StmtId id, int64_t cores) {
  const int64_t count = shared_iterations(schedule, id);
  return static_cast<double>(count) >=
         0.8 * static_cast<double>((count + cores - 1) / cores * cores);
}

TEST(AutoThreads, shares_rows_and_columns_of_products) {
  for (const auto& [rows, columns, depth] :
       {std::array{128, 768, 768}, {256, 256, 256}, {49, 512, 4608}, {1, 768, 768}})
    for (const int64_t cores : {8, 16}) {
      const Schedule shared = for_cores(product_text(rows, columns, depth), cores);
      EXPECT_TRUE(keeps_busy(shared, poly::StmtId{1}, cores))
          << rows << "x" << columns << "x" << depth << " on " << cores << ":\n"
          << listing(shared);
    }
}

TEST(AutoThreads, shares_the_columns_of_one_row) {
  for (const std::string& name : target::named_cpus())
    for (const int64_t cores : {8, 16})
      for (const int columns : {768, 2304, 3072, 50257}) {
        Environment environment = with_cores(cores);
        environment.cpu = *target::named_cpu(name);
        environment.cpu.cores = cores;
        const Schedule shared = for_environment(product_text(1, columns, 768), environment);
        EXPECT_TRUE(keeps_busy(shared, poly::StmtId{1}, cores))
            << columns << " on " << cores << " of " << name << ":\n"
            << listing(shared);
      }
}

TEST(AutoThreads, leaves_late_threads_little_of_one_row) {
  Environment environment = with_cores(16);
  environment.cpu = *target::named_cpu("sapphirerapids");
  environment.cpu.cores = 16;
  const Schedule shared = for_environment(product_text(1, 50257, 768), environment);
  EXPECT_GE(shared_iterations(shared, poly::StmtId{1}), 4 * 16)
      << "who comes early takes what others have not begun\n"
      << listing(shared);
}

TEST(AutoThreads, leaves_late_threads_little_of_a_product) {
  const auto blocks_each = [](const std::string& text, int64_t cores) {
    Environment environment = with_cores(cores);
    environment.cpu = *target::named_cpu("sapphirerapids");
    environment.cpu.cores = cores;
    return shared_iterations(for_environment(text, environment), poly::StmtId{1}) / cores;
  };
  for (const auto& [rows, columns, depth] :
       {std::array{1024, 1024, 1024}, {3136, 64, 576}, {128, 3072, 768}}) {
    EXPECT_GE(blocks_each(product_text(rows, columns, depth), 16), 6)
        << rows << "x" << columns << "x" << depth;
    EXPECT_LT(blocks_each(product_text(rows, columns, depth), 2), 32) << "few are seldom late";
  }
  const std::string halves = "numerics fast\ninput A: f16[1024, 1024]\nconst B: f16[1024, 1024]\n"
                             "output C: f32[1024, 1024]\nC[i, j] = sum(k, A[i, k] * B[k, j])\n";
  EXPECT_GE(blocks_each(halves, 16), 3) << "also where each thread adds up sums of f16";
}

TEST(AutoThreads, cut_nothing_else_where_they_share_rows_of_images) {
  const std::string window = R"(input X: f32[3, 224, 224]
const W: f32[64, 3, 3, 3], B: f32[64]
output Y: f32[64, 111, 111]
temp T: f32[64, 111, 111]
T[m, i, j] = sum((c, p, q), X[c, 2 * i + p, 2 * j + q] * W[m, c, p, q])
Y[m, i, j] = max(T[m, i, j] + B[m], 0.0)
)";
  for (const int64_t cores : {2, 16}) {
    Environment environment = with_cores(cores);
    environment.cpu = *target::named_cpu("sapphirerapids");
    environment.cpu.cores = cores;
    const Schedule shared = for_environment(window, environment);
    EXPECT_EQ(shared_iterations(shared, poly::StmtId{1}), 111) << listing(shared);
    for (const poly::LoopId loop : poly::path_of(shared.order, poly::StmtId{1}))
      if (const std::string& name = shared.order[loop].name; name == "j.0" || name == "m.0") {
        EXPECT_EQ(longest_run(shared.scop, shared.order, loop).value_or(0), 1)
            << name << " on " << cores << ":\n"
            << listing(shared);
      }
  }
}

TEST(AutoThreads, copies_what_several_blocks_read_once) {
  const Schedule shared = for_cores(product_text(128, 768, 768), 8);
  ASSERT_EQ(shared.scop.statements.size(), 4U) << listing(shared);
  const poly::StmtId copy{3};
  EXPECT_NE(poly::path_of(shared.order, copy).front(),
            poly::path_of(shared.order, poly::StmtId{1}).front())
      << "not inside the loop that threads share\n"
      << listing(shared);
  EXPECT_GE(shared_iterations(shared, copy), 8) << listing(shared);
}

TEST(AutoThreads, shares_all_blocks_of_all_heads) {
  const std::string attention = R"(input Q: f32[12, 512, 64], K: f32[12, 512, 64]
input V: f32[12, 512, 64]
output out: f32[12, 512, 64]
temp scores: f32[12, 512, 512], weights: f32[12, 512, 512]
scores[h, i, j] = sum(d, Q[h, i, d] * K[h, j, d])
weights[h, i, j] = exp(scores[h, i, j] - max(k, scores[h, i, k]))
out[h, i, d] = sum(j, weights[h, i, j] * V[h, j, d]) / sum(j, weights[h, i, j])
)";
  EXPECT_EQ(shared_iterations(for_cores(attention, 8), poly::StmtId{1}), 12 * 16);
  EXPECT_EQ(shared_iterations(for_cores(attention, 4), poly::StmtId{1}), 12)
      << "whole heads are even";
}

TEST(AutoThreads, cut_columns_until_few_threads_wait) {
  EXPECT_EQ(even_blocks(9, 64, 7, 8), 9) << "63 blocks for 64 places";
  EXPECT_EQ(even_blocks(3, 64, 14, 8), 4) << "42 blocks leave six of 48 places empty";
  EXPECT_EQ(even_blocks(1, 1, 3, 8), 1) << "there are no more columns";
  EXPECT_EQ(even_blocks(5, 64, 3, 1), 5);
}

TEST(AutoThreads, share_loops_that_are_long_enough_for_all) {
  const std::string maps = "input X: f32[3, 64, 40, 48], g: f32[64]\noutput Y: f32[3, 64, 40, 48]\n"
                           "Y[n, c, h, w] = gelu(X[n, c, h, w] * g[c])\n";
  const std::string window =
      "input X: f32[1, 96, 58, 66], W: f32[96, 3, 3]\noutput Y: f32[1, 96, 56, 64]\n"
      "Y[n, c, h, w] = sum(r, s, X[n, c, h + r, w + s] * W[c, r, s])\n";
  for (const int64_t cores : {2, 8, 16}) {
    EXPECT_TRUE(keeps_busy(for_cores(maps, cores), poly::StmtId{0}, cores)) << cores;
    EXPECT_TRUE(keeps_busy(for_cores(window, cores), poly::StmtId{1}, cores))
        << cores << ":\n"
        << listing(for_cores(window, cores));
  }
}

TEST(AutoThreads, share_rows_of_several_images) {
  Environment environment = with_cores(16);
  environment.cpu = *target::named_cpu("sapphirerapids");
  environment.cpu.cores = 16;
  for (const int images : {2, 3, 8}) {
    const std::string text =
        fmt::format("input X: f32[{0}, 64, 58, 58]\nconst W: f32[64, 64, 3, 3]\n"
                    "output Y: f32[{0}, 64, 56, 56]\n"
                    "Y[n, k, h, w] = sum(c, r, s, X[n, c, h + r, w + s] * W[k, c, r, s])\n",
                    images);
    const Schedule shared = for_environment(text, environment);
    EXPECT_EQ(shared_iterations(shared, poly::StmtId{1}), images * 56) << listing(shared);
  }
}

TEST(AutoThreads, share_sums_of_several_short_loops) {
  const std::string text = "input X: f32[200, 3, 150, 170]\noutput Y: f32[3]\n"
                           "Y[j] = sum(i, k, l, X[i, j, k, l])\n";
  for (const int64_t cores : {8, 16}) {
    const Schedule shared = for_cores(text, cores);
    EXPECT_TRUE(keeps_busy(shared, poly::StmtId{1}, cores)) << listing(shared);
  }
  EXPECT_EQ(shared_iterations(for_cores("numerics exact\n" + text, 8), poly::StmtId{1}), 3);
  const std::string one_element = "input X: f32[5100000]\noutput Y: f32[1]\nY[z] = sum(i, X[i])\n";
  EXPECT_EQ(shared_iterations(for_cores(one_element, 8), poly::StmtId{1}), 8);
}

} // namespace
} // namespace kawara::schedule
