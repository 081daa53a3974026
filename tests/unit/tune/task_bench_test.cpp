#include "tune/measure/task_bench.h"

#include <gtest/gtest.h>

namespace kawara::tune {
namespace {

constexpr const char* kSmallProduct = R"(param M, N, K
input A: f32[M, K], B: f32[K, N]
output C: f32[M, N]
for i in range(M):
    for j in range(N):
        C[i, j] = 0
        for k in range(K):
            C[i, j] += A[i, k] * B[k, j]
)";

Task task_for(const std::string& text, std::map<std::string, int64_t> sizes) {
  driver::Request request;
  request.text = make_source("t.kw", text);
  request.sizes = std::move(sizes);
  auto made = task_of(std::move(request), driver::host_environment(), 2);
  if (!made)
    throw std::runtime_error(render(made.error()));
  return *std::move(made);
}

struct Made {
  std::shared_ptr<const Reference> reference;
  std::unique_ptr<Bench> bench;
};

Made made(Task t) {
  auto reference = reference_of(std::move(t));
  if (!reference)
    throw std::runtime_error(render(reference.error()));
  auto bench = bench_of(*reference);
  if (!bench)
    throw std::runtime_error(render(bench.error()));
  return {*reference, *std::move(bench)};
}

TEST(TaskBench, proves_compiles_compares_and_times) {
  const Made m = made(task_for(kSmallProduct, {{"M", 13}, {"N", 17}, {"K", 19}}));
  ASSERT_TRUE(m.reference->expected);
  const Prepared fine = m.bench->prepare(1, "[distribute(i); interchange(S1.j, k)]");
  EXPECT_EQ(fine.outcome, Outcome::Measured) << fine.reason;
  const Samples samples = m.bench->time(1, {.rounds = 4, .hopeless = 1e9});
  EXPECT_EQ(samples.own.size(), 4u);
  EXPECT_EQ(samples.theirs.size(), 4u);
}

TEST(TaskBench, counts_refusals_by_code) {
  const Made m = made(task_for(kSmallProduct, {{"M", 13}, {"N", 17}, {"K", 19}}));
  const auto refused = [&](const char* directives, const char* code) {
    const Prepared p = m.bench->prepare(1, directives);
    EXPECT_EQ(p.outcome, Outcome::Refused) << directives;
    EXPECT_EQ(p.reason, code) << directives;
  };
  refused("parallel(k)", "K0204");
  refused("split(x, 4)", "K0201");
  refused("splat(i, 4)", "K0230");
  refused("[split(i, 40); distribute(i.0); split(S1.j, 40); reorder(S1.i.0, S1.j.0, k, S1.i.1, "
          "S1.j.1); unroll(S1.i.1); unroll(S1.j.1)]",
          "unrolled too far");
}

TEST(TaskBench, uses_the_default_as_the_measure_for_large_sizes) {
  const Made m = made(task_for(kSmallProduct, {{"M", 160}, {"N", 170}, {"K", 180}}));
  EXPECT_FALSE(m.reference->expected);
  EXPECT_EQ(m.bench->prepare(1, "auto").outcome, Outcome::Measured);
  EXPECT_EQ(m.bench->prepare(2, "").outcome, Outcome::Measured);
}

TEST(TaskBench, resets_what_calls_change) {
  const Made m = made(task_for(
      "param N\ninout x: f64[N]\nfor i in range(N):\n    x[i] = x[i] * 3\n", {{"N", 100}}));
  for (uint32_t id = 0; id < 3; ++id) {
    EXPECT_EQ(m.bench->prepare(id, "vectorize(i, 4)").outcome, Outcome::Measured);
    EXPECT_FALSE(m.bench->time(id, {}).own.empty());
  }
}

TEST(Task, is_planned_for_its_threads) {
  for (const int64_t threads : {1, 5}) {
    driver::Request request;
    request.text = make_source("gemm.kw", "param N\ninput x: f32[N]\noutput y: f32[N]\n"
                                          "y[i] = x[i] + 1\n");
    request.sizes = {{"N", 8}};
    const auto task = task_of(std::move(request), driver::host_environment(), threads);
    ASSERT_TRUE(task);
    EXPECT_EQ(task->environment.cpu.cores, threads);
  }
}

TEST(Key, depends_on_meaning_not_on_spelling) {
  const std::map<std::string, int64_t> sizes{{"M", 4}, {"N", 5}, {"K", 6}};
  const Key key = key_of(task_for(kSmallProduct, sizes));
  std::string spaced = kSmallProduct;
  spaced.insert(0, "# a comment\n\n");
  EXPECT_EQ(key_of(task_for(spaced, sizes)), key);
  EXPECT_EQ(key.sizes, "K=6 M=4 N=5");
  std::string doubles = kSmallProduct;
  doubles.replace(doubles.find("f32"), 3, "f64");
  EXPECT_NE(key_of(task_for(doubles, sizes)), key);
  EXPECT_EQ(key_of(task_for(kSmallProduct, {{"M", 5}, {"N", 5}, {"K", 6}})).program, key.program);
  EXPECT_NE(id_of(key_of(task_for(kSmallProduct, {{"M", 5}, {"N", 5}, {"K", 6}}))), id_of(key));
}

} // namespace
} // namespace kawara::tune
