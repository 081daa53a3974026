#include "run/probe.h"

#include <gtest/gtest.h>

#include <chrono>

namespace kawara::run {
namespace {

TEST(Probe, FindsPlausibleLimits) {
  const auto pool = std::make_shared<ThreadPool>();
  const auto begin = std::chrono::steady_clock::now();
  const MachineLimits limits = probe_machine(target::detect_cpu(), pool);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(limits.threads, pool->threads());
  EXPECT_GT(limits.f32_flops_one, 1e8);
  EXPECT_GE(limits.f32_flops_all, limits.f32_flops_one);
  EXPECT_GT(limits.f32_flops_one, limits.f64_flops_one);
  EXPECT_GT(limits.memory_bytes_one, 1e7);
  EXPECT_GE(limits.memory_bytes_all, limits.memory_bytes_one);
  std::printf("%.2f s: %s\n", took.count(), to_json(limits).c_str());
}

TEST(Probe, KeepsItsRecord) {
  const MachineLimits limits{2, 1, 2, 3, 4, 5, 6, 0, 8, 9};
  EXPECT_EQ(limits_from_json(to_json(limits)), limits);
  for (const char* bad : {"", "[]", "{}", "{\"threads\": 0}", "{\"threads\": 2}", "{\"threads"})
    EXPECT_FALSE(limits_from_json(bad)) << bad;
}

} // namespace
} // namespace kawara::run
