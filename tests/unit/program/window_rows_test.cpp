#include "program/window_rows.h"

#include "program/arguments.h"
#include "program/interpret.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace kawara::program {
namespace {

/// A convolution of an image that is padded by `pad` on all sides.
struct Window {
  int64_t images = 1, channels = 4, filters = 3, size = 7, taps = 3, stride = 1, dilation = 1,
          pad = 1;
  int64_t padded() const { return size + 2 * pad; }
  int64_t result() const { return (padded() - dilation * (taps - 1) - 1) / stride + 1; }
};

std::string text_of(const Window& w) {
  const std::string tap_y = w.taps > 1 ? fmt::format(" + {} * r", w.dilation) : "",
                    tap_x = w.taps > 1 ? fmt::format(" + {} * s", w.dilation) : "";
  std::string text = fmt::format("input X: f32[{0}, {1}, {2}, {2}]\n"
                                 "const W: f32[{3}, {1}{4}]\ninput b: f32[{3}]\n"
                                 "output Y: f32[{0}, {3}, {5}, {5}]\n"
                                 "temp T: f32[{0}, {3}, {5}, {5}]\n",
                                 w.images, w.channels, w.size, w.filters,
                                 w.taps > 1 ? fmt::format(", {0}, {0}", w.taps) : "", w.result());
  std::string image = "X";
  if (w.pad > 0) {
    image = "P";
    text += fmt::format("temp P: f32[{0}, {1}, {2}, {2}]\n"
                        "for n in range({0}):\n  for a in range({1}):\n    for i in range({2}):\n"
                        "      for j in range({2}):\n"
                        "        if i >= {3} and i < {4} and j >= {3} and j < {4}:\n"
                        "          P[n, a, i, j] = max(X[n, a, i - {3}, j - {3}], 0)\n"
                        "        else:\n          P[n, a, i, j] = 0\n",
                        w.images, w.channels, w.padded(), w.pad, w.pad + w.size);
  }
  const std::string range =
      w.taps > 1 ? fmt::format(", r in range({0}), s in range({0})", w.taps) : "";
  return text +
         fmt::format("T[n, m, y, x] = sum((c in range({0}){1}), {2}[n, c, {3} * y{4}, {3} * x{5}] "
                     "* W[m, c{6}])\nY[n, m, y, x] = T[n, m, y, x] + b[m]\n",
                     w.channels, range, image, w.stride, tap_y, tap_x, w.taps > 1 ? ", r, s" : "");
}

Program program_of(const std::string& text) {
  auto program = parse(make_source("conv.kw", text));
  EXPECT_TRUE(program) << text << render(program.error());
  return *std::move(program);
}

/// The weights with their dimensions in another order.
Array turned(const Array& old, const std::vector<size_t>& order) {
  std::vector<int64_t> shape;
  for (const size_t d : order)
    shape.push_back(old.shape()[d]);
  Array now(old.elem(), shape);
  std::vector<int64_t> index(shape.size(), 0), from(shape.size(), 0);
  for (int64_t k = 0; k < now.cells(); ++k) {
    for (size_t d = 0; d < order.size(); ++d)
      from[order[d]] = index[d];
    now.set(k, old.get(old.position(from.data())));
    for (size_t d = order.size(); d-- > 0 && ++index[d] == shape[d];)
      index[d] = 0;
  }
  return now;
}

void expect_same(const Window& window) {
  const Program direct = program_of(text_of(window));
  const auto rows = with_flat_convolution(direct, 1);
  ASSERT_TRUE(rows) << text_of(window);
  EXPECT_TRUE(spec(rows->program).empty());
  const Program again = program_of(print(rows->program));
  auto inputs = pattern_inputs(direct, {}, 7);
  ASSERT_TRUE(inputs);
  const auto expected = interpret(direct, {}, *inputs);
  const std::string& weights = direct.tensors[rows->weights].name;
  inputs->at(weights) = turned(inputs->at(weights), rows->order);
  const auto got = interpret(again, {}, *inputs);
  ASSERT_TRUE(expected && got) << render(got.error());
  for (int64_t k = 0; k < expected->at("Y").cells(); ++k)
    EXPECT_NEAR(got->at("Y").get_double(k), expected->at("Y").get_double(k), 1e-5);
}

TEST(WindowRows, MeanTheSameAsTheWindow) {
  expect_same({});
  expect_same({.images = 2});
  expect_same({.taps = 5, .pad = 2});
  expect_same({.pad = 0});
  expect_same({.size = 9, .dilation = 2});
}

TEST(WindowRows, StridesTakeTheImageApart) {
  expect_same({.size = 8, .stride = 2});
  expect_same({.images = 2, .size = 9, .stride = 2});
  expect_same({.size = 11, .stride = 3, .pad = 2});
  expect_same({.size = 8, .taps = 1, .stride = 2, .pad = 0});
  expect_same({.size = 9, .stride = 2, .dilation = 2, .pad = 2});
}

TEST(WindowRows, LeaveOthersAlone) {
  EXPECT_FALSE(with_flat_convolution(program_of(text_of({.taps = 1, .pad = 0})), 1));
  EXPECT_FALSE(with_flat_convolution(program_of(text_of({})), 16));
  EXPECT_FALSE(with_flat_convolution(
      program_of("input A: f32[4, 5, 6]\noutput B: f32[4, 5, 6]\nB[i, j, k] = A[i, j, k]\n"), 1));
}

TEST(WindowRows, ReadWholeGroups) {
  const auto rows = with_flat_convolution(program_of(text_of({})), 1);
  ASSERT_TRUE(rows);
  EXPECT_EQ(print(rows->program), R"(input X: f32[1, 4, 7, 7]
const W: f32[3, 3, 3, 4]
input b: f32[3]
output Y: f32[1, 3, 7, 7]
temp T: f32[1, 3, 64]
temp P: f32[1, 4, 144]

for d0 in range(1):
    for d1 in range(4):
        for i in range(16):
            for j in range(9):
                if i < 9 and j < 9 and (i >= 1 and i < 8 and j >= 1 and j < 8):
                    P[d0, d1, 9 * i + j] = max(X[d0, d1, i - 1, j - 1], 0.0)
                else:
                    P[d0, d1, 9 * i + j] = 0.0
for n in range(1):
    for m in range(3):
        for q in range(64):
            T[n, m, q] = 0.0
            for r in range(3):
                for s in range(3):
                    for c in range(4):
                        T[n, m, q] += P[n, c, q + 9 * r + s] * W[r, s, m, c]
for n in range(1):
    for m in range(3):
        for y in range(7):
            for x in range(7):
                Y[n, m, y, x] = T[n, m, y * 9 + x] + b[m]
)");
}

} // namespace
} // namespace kawara::program
