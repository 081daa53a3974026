#include "unit/kernel/gpu/gpu_line.h"

// Products for plain cores whose rows end within the neighbouring elements of a thread.

namespace kawara::kernel {
namespace {

/// A convolution by windows of 3 x 3 over rows of `columns` elements.
std::string convolution(int64_t filters, int64_t rows, int64_t columns, int64_t channels) {
  const auto number = [](int64_t n) { return std::to_string(n); };
  return "input X: f32[" + number(channels) + ", " + number(rows + 2) + ", " + number(columns + 2) +
         "], W: f32[" + number(filters) + ", " + number(channels) + ", 3, 3], b: f32[" +
         number(filters) + "]\noutput Y: f32[" + number(filters) + ", " + number(rows) + ", " +
         number(columns) + "]\ntemp T: f32[" + number(filters) + ", " + number(rows) + ", " +
         number(columns) +
         "]\nT[m, y, x] = sum(c, u, v, X[c, y + u, x + v] * W[m, c, u, v])\n"
         "Y[m, y, x] = max(T[m, y, x] + b[m], 0)\n";
}

TEST(OddRows, SumsHaveOneCopyOfTheirText) {
  const auto length_of = [](int64_t columns) {
    return print(gpu_line::compile(convolution(192, 71, columns, 80), "auto", {}).kernel).size();
  };
  const size_t even = length_of(72), odd = length_of(71);
  EXPECT_LT(odd, 3 * even);
}

TEST(OddRows, MeanTheSame) {
  for (const int64_t columns : {5, 6, 35, 37})
    gpu_line::expect_same(convolution(9, 2, columns, 4), "auto", {});
}

} // namespace
} // namespace kawara::kernel
