#include "unit/kernel/gpu/gpu_line.h"

namespace kawara::kernel {
namespace {

using gpu_line::compile;
using gpu_line::expect_same;
using gpu_line::Line;

const std::string kNarrowSums = "param M, N\n"
                                "input X: bf16[M, N]\n"
                                "output s: f32[M]\n"
                                "for i in range(M):\n"
                                "    s[i] = 0\n"
                                "    for j in range(N):\n"
                                "        s[i] += f32(X[i, j])\n";

/// A block for each row, a thread for so many neighbours at a time.
std::string neighbours(int count) {
  return "bind(i, block.x); split(j, " + std::to_string(count) +
         "); split(j.0, 4); reorder(j.0.1, j.0.0, j.1); bind(j.0.1, thread.x); unroll(j.1)";
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(WideLoads, EightNeighboursOfTwoBytesAreOneLoad) {
  const Line line = compile(kNarrowSums, neighbours(8), {{"M", 3}, {"N", 64}});
  const std::string text = print(line.kernel);
  EXPECT_NE(text.find("X_wide[ramp(0, 1, 8)] = f32x8(X[block_x, ramp("), std::string::npos) << text;
  EXPECT_EQ(count_of(text, " X["), 0U) << text;
  expect_same(kNarrowSums, neighbours(8), {{"M", 3}, {"N", 64}});
}

TEST(WideLoads, PiecesBeginAtMultiplesOfTheirLength) {
  // Rows of 36 elements begin at multiples of 8 bytes only.
  const Line line = compile(kNarrowSums, neighbours(4), {{"M", 3}, {"N", 36}});
  EXPECT_NE(print(line.kernel).find("X_wide[ramp(0, 1, 4)]"), std::string::npos)
      << print(line.kernel);
  expect_same(kNarrowSums, neighbours(4), {{"M", 3}, {"N", 36}});
  const Line odd = compile(kNarrowSums, neighbours(4), {{"M", 3}, {"N", 35}});
  EXPECT_EQ(print(odd.kernel).find("_wide"), std::string::npos) << print(odd.kernel);
}

TEST(WideLoads, WhatASelectMayLeaveOutIsNotLoaded) {
  const auto text = [](const std::string& value) {
    return "input X: f32[16]\n"
           "output s: f32\n"
           "s = 0\n"
           "for i in range(4):\n"
           "    for j in range(4):\n"
           "        s += " +
           value + "\n";
  };
  const std::string directives = "bind(i, thread.x); unroll(j)";
  const std::string chosen = text("select(i < 3, X[4 * i + j], 0)"), all = text("X[4 * i + j]");
  EXPECT_EQ(print(compile(chosen, directives, {}).kernel).find("_wide"), std::string::npos);
  EXPECT_NE(print(compile(all, directives, {}).kernel).find("_wide"), std::string::npos);
  expect_same(chosen, directives, {});
}

TEST(WideLoads, WhatTheLaunchWritesIsReadElementByElement) {
  const auto text = [](const std::string& result) {
    return "inout X: f32[32], Y: f32[32]\n"
           "for i in range(8):\n"
           "    for j in range(4):\n"
           "        " +
           result + "[4 * i + j] = X[4 * i + j] + 1\n";
  };
  const std::string directives = "bind(i, thread.x); unroll(j)";
  EXPECT_EQ(print(compile(text("X"), directives, {}).kernel).find("X_wide"), std::string::npos);
  EXPECT_NE(print(compile(text("Y"), directives, {}).kernel).find("X_wide"), std::string::npos);
  expect_same(text("X"), directives, {});
}

} // namespace
} // namespace kawara::kernel
