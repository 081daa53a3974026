#include "kernel/gpu/join_launches.h"

#include "unit/kernel/gpu/gpu_line.h"

namespace kawara::kernel {
namespace {

using gpu_line::compile;
using gpu_line::expect_same;

/// Two maps, each with the threads and blocks that the schedule says.
const std::string kTwoMaps = "input A: f32[700], B: f32[100]\n"
                             "output C: f32[700], D: f32[100]\n"
                             "C[i] = A[i] * 2\n"
                             "D[i] = B[i] + 1\n";
const std::string kSameThreads = "split(S0.i, 64); bind(S0.i.0, block.x); bind(S0.i.1, thread.x); "
                                 "split(S1.i, 64); bind(S1.i.0, block.x); bind(S1.i.1, thread.x)";

std::vector<Launch> launches_of(const Kernel& kernel) {
  std::vector<Launch> found;
  for (const Stmt& stmt : kernel.body)
    if (const auto* launch = std::get_if<Launch>(&stmt))
      found.push_back(*launch);
  return found;
}

size_t launch_count(const std::string& text, const std::string& directives,
                    const gpu_line::Sizes& sizes = {}, bool are_fixed = true) {
  return launches_of(compile(text, directives, sizes, are_fixed).kernel).size();
}

TEST(JoinLaunches, MapsBesideEachOtherShareALaunch) {
  const auto line = compile(kTwoMaps, kSameThreads, {});
  const auto launches = launches_of(line.kernel);
  ASSERT_EQ(launches.size(), 1U) << print(line.kernel);
  // 11 blocks of 64 elements for 700 elements, and 2 for 100.
  EXPECT_EQ(scalar::constant_of(launches[0].blocks[0]), 13) << print(line.kernel);
  expect_same(kTwoMaps, kSameThreads, {});
}

TEST(JoinLaunches, GridsOfSeveralDimensionsAreNumbered) {
  const std::string text = "input A: f32[6, 5, 64], B: f32[3, 7, 64]\n"
                           "output C: f32[6, 5, 64], D: f32[3, 7, 64]\n"
                           "C[i, j, k] = A[i, j, k] * 2\n"
                           "D[i, j, k] = B[i, j, k] + i + 10 * j\n";
  const std::string directives = "bind(S0.i, block.y); bind(S0.j, block.x); bind(S0.k, thread.x); "
                                 "bind(S1.i, block.z); bind(S1.j, block.x); bind(S1.k, thread.x)";
  const auto launches = launches_of(compile(text, directives, {}).kernel);
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_EQ(scalar::constant_of(launches[0].blocks[0]), 6 * 5 + 3 * 7);
  expect_same(text, directives, {});
}

TEST(JoinLaunches, ThreeMapsShareALaunch) {
  const std::string text = "input A: f32[128]\n"
                           "output B: f32[128], C: f32[128], D: f32[128]\n"
                           "B[i] = A[i] + 1\n"
                           "C[i] = A[i] + 2\n"
                           "D[i] = A[i] + 3\n";
  std::string directives;
  for (const std::string s : {"S0", "S1", "S2"})
    directives +=
        "split(" + s + ".i, 64); bind(" + s + ".i.0, block.x); bind(" + s + ".i.1, thread.x); ";
  EXPECT_EQ(launch_count(text, directives), 1U);
  expect_same(text, directives, {});
}

TEST(JoinLaunches, WhatNeedsTheOtherStays) {
  const auto with = [](const std::string& last) {
    return "input A: f32[128], B: f32[128]\ntemp T: f32[128]\noutput C: f32[128], D: f32[128]\n" +
           last;
  };
  const std::string reads_a_result = with("C[i] = A[i] * 2\nD[i] = C[127 - i] + B[i]\n");
  const std::string reads_none = with("C[i] = A[i] * 2\nD[i] = A[127 - i] + B[i]\n");
  EXPECT_EQ(launch_count(reads_a_result, kSameThreads), 2U);
  EXPECT_EQ(launch_count(reads_none, kSameThreads), 1U);
  expect_same(reads_a_result, kSameThreads, {});
  expect_same(reads_none, kSameThreads, {});

  // The second stores what the first reads.
  const std::string inout = "input A: f32[128]\ninout B: f32[128]\noutput C: f32[128]\n"
                            "C[i] = B[127 - i]\nB[i] = A[i]\n";
  EXPECT_EQ(launch_count(inout, kSameThreads), 2U);
  expect_same(inout, kSameThreads, {});
}

TEST(JoinLaunches, OtherThreadsLoopsAndOpenSizesStay) {
  EXPECT_EQ(launch_count(kTwoMaps,
                         "split(S0.i, 64); bind(S0.i.0, block.x); bind(S0.i.1, thread.x); "
                         "split(S1.i, 32); bind(S1.i.0, block.x); bind(S1.i.1, thread.x)"),
            2U);
  const std::string with_loop = "input A: f32[128, 40], B: f32[128]\n"
                                "output C: f32[128], D: f32[128]\n"
                                "C[i] = sum(k, A[i, k])\n"
                                "D[i] = B[i] + 1\n";
  EXPECT_EQ(launch_count(with_loop,
                         "split(S0.i, 64); bind(S0.i.0, block.x); bind(S0.i.1, thread.x); "
                         "split(S2.i, 64); bind(S2.i.0, block.x); "
                         "bind(S2.i.1, thread.x)"),
            2U);
  const std::string open = "param N\ninput A: f32[N], B: f32[N]\noutput C: f32[N], D: f32[N]\n"
                           "C[i] = A[i] * 2\nD[i] = B[i] + 1\n";
  EXPECT_EQ(launch_count(open, kSameThreads, {{"N", 200}}), 1U);
  EXPECT_EQ(launch_count(open, kSameThreads, {{"N", 200}}, false), 2U);
}

} // namespace
} // namespace kawara::kernel
