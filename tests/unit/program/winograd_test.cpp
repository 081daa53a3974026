#include "program/rewrites/winograd.h"

#include "program/interpret/arguments.h"
#include "program/interpret/interpret.h"
#include "program/rewrites/find_convolution.h"
#include "program/rewrites/winograd_matrices.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kawara::program {
namespace {

Program parsed(const std::string& text) {
  auto program = parse(make_source("conv.kw", text));
  EXPECT_TRUE(program) << render(program.error());
  return *std::move(program);
}

std::string convolution(int64_t channels, int64_t filters, int64_t height, int64_t width,
                        const std::string& numerics = "fast") {
  return fmt::format("numerics {0}\n"
                     "input X: f32[2, {1}, {3}, {4}], W: f32[{2}, {1}, 3, 3], bias: f32[{2}]\n"
                     "output Y: f32[2, {2}, {5}, {6}]\n"
                     "temp T: f32[2, {2}, {5}, {6}]\n"
                     "T[n, k, y, x] = sum((c, r, s), X[n, c, y + r, x + s] * W[k, c, r, s])\n"
                     "Y[n, k, y, x] = max(T[n, k, y, x] + bias[k], 0)\n",
                     numerics, channels, filters, height + 2, width + 2, height, width);
}

/// Largest difference of the two programs' results on a fixed pattern of inputs, over the largest
/// |X| times the largest |W|.
double difference(const Program& direct, const Program& other) {
  const auto inputs = pattern_inputs(direct, {}, 7);
  EXPECT_TRUE(inputs);
  const auto a = interpret(direct, {}, *inputs), b = interpret(other, {}, *inputs);
  EXPECT_TRUE(a) << render(a.error());
  EXPECT_TRUE(b) << render(b.error());
  const auto largest = [](const Array& array) {
    double found = 0;
    for (int64_t c = 0; c < array.elements(); ++c)
      found = std::max(found, std::abs(array.get_double(c)));
    return found;
  };
  double worst = 0;
  for (int64_t c = 0; c < a->at("Y").elements(); ++c)
    worst = std::max(worst, std::abs(a->at("Y").get_double(c) - b->at("Y").get_double(c)));
  return worst / (largest(inputs->at("X")) * largest(inputs->at("W")));
}

TEST(Winograd, MatricesComputeAConvolution) {
  for (const int64_t m : {2, 4}) {
    const auto matrices = winograd_matrices(m);
    ASSERT_TRUE(matrices);
    const std::vector<double> window{0.5, -2, 3}, image{1, 2, -1, 4, 0.25, -3};
    for (int64_t y = 0; y < m; ++y) {
      double sum = 0, expected = 0;
      for (size_t t = 0; t < static_cast<size_t>(m + 2); ++t) {
        double g = 0, d = 0;
        for (size_t k = 0; k < 3; ++k)
          g += matrices->window[t][k] * window[k];
        for (size_t k = 0; k < static_cast<size_t>(m + 2); ++k)
          d += matrices->image[t][k] * image[k];
        sum += matrices->result[static_cast<size_t>(y)][t] * g * d;
      }
      for (size_t k = 0; k < 3; ++k)
        expected += window[k] * image[static_cast<size_t>(y) + k];
      EXPECT_NEAR(sum, expected, 1e-12) << "m " << m << " y " << y;
    }
  }
  EXPECT_FALSE(winograd_matrices(3));
}

TEST(Winograd, GivesTheResultOfTheDirectProgramWithinItsBound) {
  struct Shape {
    int64_t m, channels, filters, height, width;
  };
  for (const Shape& s : {Shape{2, 3, 4, 8, 6}, Shape{4, 3, 4, 8, 4}, Shape{2, 1, 2, 7, 5},
                         Shape{4, 5, 3, 7, 7}, Shape{4, 2, 2, 1, 1}}) {
    const Program direct = parsed(convolution(s.channels, s.filters, s.height, s.width));
    const auto fast = with_winograd(direct, s.m);
    ASSERT_TRUE(fast);
    EXPECT_EQ(spec(*fast), std::vector<std::string>{});
    const double worst = difference(direct, *fast);
    EXPECT_GT(winograd_bound(s.m, s.channels), 0);
    EXPECT_LE(worst, winograd_bound(s.m, s.channels)) << "m " << s.m << " height " << s.height;
    // The text of the program means the same.
    const auto again = parse(make_source("again.kw", print(*fast)));
    ASSERT_TRUE(again) << render(again.error());
    EXPECT_LE(difference(direct, *again), winograd_bound(s.m, s.channels));
  }
}

/// The same with channels last; weights as `order` says, in k, c, r, s.
std::string channels_last(int64_t channels, int64_t filters, int64_t height, int64_t width,
                          const std::string& order) {
  std::string shape;
  for (const char dim : order)
    shape += (shape.empty() ? "" : ", ") + (dim == 'k'   ? std::to_string(filters)
                                            : dim == 'c' ? std::to_string(channels)
                                                         : "3");
  return fmt::format("numerics fast\n"
                     "input X: f32[2, {3}, {4}, {0}], W: f32[{2}], bias: f32[{1}]\n"
                     "output Y: f32[2, {5}, {6}, {1}]\n"
                     "temp T: f32[2, {5}, {6}, {1}]\n"
                     "T[n, y, x, k] = sum((c, r, s), X[n, y + r, x + s, c] * W[{7}])\n"
                     "Y[n, y, x, k] = max(T[n, y, x, k] + bias[k], 0)\n",
                     channels, filters, shape, height + 2, width + 2, height, width,
                     fmt::format("{}, {}, {}, {}", order[0], order[1], order[2], order[3]));
}

TEST(Winograd, TakesChannelsLast) {
  struct Shape {
    int64_t m, channels, filters, height, width;
  };
  for (const char* order : {"rsck", "krsc", "kcrs"})
    for (const Shape& s : {Shape{2, 3, 4, 8, 6}, Shape{4, 3, 4, 8, 4}, Shape{2, 1, 2, 7, 5},
                           Shape{4, 5, 3, 7, 7}, Shape{4, 2, 2, 1, 1}}) {
      const Program direct = parsed(channels_last(s.channels, s.filters, s.height, s.width, order));
      const auto fast = with_winograd(direct, s.m);
      ASSERT_TRUE(fast) << order;
      EXPECT_EQ(spec(*fast), std::vector<std::string>{});
      EXPECT_LE(difference(direct, *fast), winograd_bound(s.m, s.channels)) << order;
      const bool is_whole = s.height % s.m == 0 && s.width % s.m == 0;
      const bool has_copy = std::any_of(fast->tensors.begin(), fast->tensors.end(),
                                        [](const Tensor& t) { return t.name == "T_image"; });
      EXPECT_EQ(has_copy, !is_whole) << "an image that holds all tiles is read unpacked";
    }
}

/// A padded image as networks have it: a temp that only the convolution reads.
std::string padded_convolution(int64_t channels, int64_t filters, int64_t size,
                               const std::string& more = "") {
  return fmt::format("numerics fast\n"
                     "input X: f32[{0}, {2}, {2}], W: f32[{1}, {0}, 3, 3]\n"
                     "output Y: f32[{1}, {2}, {2}]\n{5}"
                     "temp P: f32[{0}, {3}, {3}]\n"
                     "for c in range({0}):\n"
                     "    for h in range({3}):\n"
                     "        for w in range({3}):\n"
                     "            if 1 <= h < {4} and 1 <= w < {4}:\n"
                     "                P[c, h, w] = X[c, h - 1, w - 1]\n"
                     "            else:\n"
                     "                P[c, h, w] = 0\n"
                     "Y[k, y, x] = sum((c, r, s), P[c, y + r, x + s] * W[k, c, r, s])\n",
                     channels, filters, size, size + 2, size + 1, more);
}

const Tensor* tensor_of(const Program& program, const std::string& name) {
  for (const Tensor& tensor : program.tensors)
    if (tensor.name == name)
      return &tensor;
  return nullptr;
}

TEST(Winograd, TransformsInTwoPasses) {
  const auto fast = with_winograd(parsed(convolution(8, 8, 8, 8)), 4);
  ASSERT_TRUE(fast);
  // The image transposed; 6 rows of windows and of tiles, twice each; the products; 4 rows of
  // results, twice, and storing them; Y.
  EXPECT_EQ(fast->statements.size(), 1U + 12 + 12 + 2 + 8 + 1 + 1);
  for (const Statement& statement : fast->statements)
    if (tensor_of(*fast, "T") == &fast->tensors[statement.tensor]) {
      EXPECT_EQ(statement.op, ReduceOp::None); // no element begins with zero and is added to
    }
}

TEST(Winograd, TakesImagesAndWeightsOfHalfFloats) {
  for (const char* elem : {"f16", "bf16"})
    for (const char* more : {"", "output Z: f32[3, 10, 10]\n"}) {
      std::string text = padded_convolution(3, 4, 8, more);
      for (const char* name : {"X: f32", "W: f32", "P: f32"})
        text.replace(text.find(name), 6, std::string(name, 3) + elem);
      if (*more != 0)
        text += "Z[c, h, w] = P[c, h, w]\n";
      const Program direct = parsed(text);
      const auto fast = with_winograd(direct, 4);
      ASSERT_TRUE(fast) << text;
      EXPECT_EQ(spec(*fast), std::vector<std::string>{});
      EXPECT_LE(difference(direct, *fast), winograd_bound(4, 3)) << text;
    }
}

TEST(Winograd, TurnsATempWhereItIsWritten) {
  for (const int64_t size : {8, 7, 5, 3}) {
    const Program direct = parsed(padded_convolution(3, 4, size));
    for (const int64_t m : {2, 4}) {
      const auto fast = with_winograd(direct, m);
      ASSERT_TRUE(fast);
      EXPECT_EQ(spec(*fast), std::vector<std::string>{});
      EXPECT_EQ(tensor_of(*fast, "Y_image"), nullptr);
      EXPECT_EQ(scalar::constant_of(tensor_of(*fast, "P")->shape[2]), 3);
      EXPECT_LE(difference(direct, *fast), winograd_bound(m, 3)) << "m " << m << " size " << size;
    }
  }
}

TEST(Winograd, CopiesATempThatOthersRead) {
  const Program direct =
      parsed(padded_convolution(3, 4, 6, "output Z: f32[3]\n") + "Z[c] = P[c, 1, 1]\n");
  const auto fast = with_winograd(direct, 4);
  ASSERT_TRUE(fast);
  EXPECT_NE(tensor_of(*fast, "Y_image"), nullptr);
  EXPECT_LE(difference(direct, *fast), winograd_bound(4, 3));
}

TEST(Winograd, AddsWhereTheResultDoesNotBeginWithTheConvolution) {
  const Program direct =
      parsed("numerics fast\ninput X: f32[3, 8, 8], W: f32[4, 3, 3, 3], B: f32[4]\noutput Y: "
             "f32[4, 6, 6]\n"
             "for k in range(4):\n    for y in range(6):\n        for x in range(6):\n"
             "            Y[k, y, x] = B[k]\n"
             "for k in range(4):\n    for y in range(6):\n        for x in range(6):\n"
             "            for c in range(3):\n                for r in range(3):\n"
             "                    for s in range(3):\n"
             "                        Y[k, y, x] += X[c, y + r, x + s] * W[k, c, r, s]\n");
  const auto fast = with_winograd(direct, 4);
  ASSERT_TRUE(fast);
  EXPECT_LE(difference(direct, *fast), winograd_bound(4, 3));
}

TEST(Winograd, RowsThatMirrorEachOtherShareTheirHalves) {
  const Matrix image = winograd_matrices(4)->image;
  const auto element = [](size_t k) {
    return scalar::load(0, {scalar::int_lit(static_cast<int64_t>(k))}, {scalar::Elem::F32, 1});
  };
  const auto halves = [&](size_t row) {
    const Expr sum = transformed_row(image, row, element);
    const auto* both = scalar::as<scalar::Binary>(sum);
    return std::pair(both->lhs, both->rhs);
  };
  EXPECT_TRUE(scalar::equal(halves(1).first, halves(2).first));
  EXPECT_TRUE(scalar::equal(halves(1).second, halves(2).second));
  EXPECT_TRUE(scalar::equal(halves(3).second, halves(4).second));
}

TEST(Winograd, IsForFastOnly) {
  for (const char* numerics : {"exact", "rounding"})
    EXPECT_FALSE(with_winograd(parsed(convolution(3, 4, 8, 8, numerics)), 2)) << numerics;
}

TEST(Winograd, LeavesOtherProgramsAlone) {
  const auto refused = [](const std::string& tensors, const std::string& body) {
    const Program program = parsed("numerics fast\n" + tensors + "\n" + body + "\n");
    EXPECT_FALSE(with_winograd(program, 2)) << body;
    const auto found = find_convolution(program);
    return found ? std::string() : found.error().why;
  };
  const std::string sum = "Y[n, k, y, x] = sum((c, r, s), X[n, c, y + r, x + s] * W[k, c, r, s])";
  EXPECT_EQ(
      refused("input X: f32[1, 3, 10, 10], W: f32[4, 3, 5, 5]\noutput Y: f32[1, 4, 6, 6]", sum),
      "S1 has windows of 5 x 5.");
  EXPECT_EQ(
      refused("input X: f64[1, 3, 10, 10], W: f64[4, 3, 3, 3]\noutput Y: f64[1, 4, 8, 8]", sum),
      "S1 adds up `Y` in f64; how far transforms round is known for f32.");
  EXPECT_EQ(refused("input X: f32[1, 3, 10, 10], W: f32[4, 3, 3, 3]\noutput Y: f32[1, 4, 4, 4]",
                    "Y[n, k, y, x] = sum((c, r, s), X[n, c, 2*y + r, 2*x + s] * W[k, c, r, s])"),
            "S1 reads `X[n, c, 2 * y + r, 2 * x + s]`, which is no window with stride 1.");
  EXPECT_EQ(refused("input X: f32[1, 3, 10, 10], W: f32[3, 3, 3]\noutput Y: f32[1, 3, 8, 8]",
                    "Y[n, k, y, x] = sum((r, s), X[n, k, y + r, x + s] * W[k, r, s])"),
            "S1 is grouped: `k` moves the image, the weights and the result.");
  EXPECT_EQ(refused("input X: f32[2, 3, 10, 10], W: f32[2, 4, 3, 3, 3]\noutput Y: f32[2, 4, 8, 8]",
                    "Y[g, k, y, x] = sum((c, r, s), X[g, c, y + r, x + s] * W[g, k, c, r, s])"),
            "S1 is grouped: `g` moves the image, the weights and the result.");
  EXPECT_EQ(refused("input X: f32[2, 10, 10], W: f32[3, 3]\noutput Y: f32[2, 8, 8]",
                    "Y[n, y, x] = sum((r, s), X[n, y + r, x + s] * W[r, s])"),
            "S1 adds up no channels.");
  EXPECT_EQ(refused("input X: f32[2, 3, 10, 10], W: f32[3, 3, 3]\noutput Y: f32[2, 8, 8]",
                    "Y[n, y, x] = sum((c, r, s), X[n, c, y + r, x + s] * W[c, r, s])"),
            "S1 has no filters: no loop moves the weights alone.");
  EXPECT_EQ(refused("input A: f32[4, 5], B: f32[5, 6]\noutput C: f32[4, 6]",
                    "C[i, j] = sum(k, A[i, k] * B[k, j])"),
            "S1 moves no window over two dimensions of an image.");
  EXPECT_EQ(refused("input A: f32[4], B: f32[4]\noutput C: f32[4]", "C[i] = A[i] + B[i]"),
            "S0 adds up no products.");
  EXPECT_EQ(refused("input X: f32[3, 10, 10], W: f32[4, 3, 3, 3]\noutput Y: f32[4, 8, 8]\n"
                    "temp T: f32[4, 8, 8]",
                    "for k in range(4):\n    for y in range(8):\n        for x in range(8):\n"
                    "            T[k, y, x] = 0\n"
                    "            for c in range(3):\n                for r in range(3):\n"
                    "                    for s in range(3):\n"
                    "                        T[k, y, x] += X[c, y + r, x + s] * W[k, c, r, s]\n"
                    "            Y[k, y, x] = max(T[k, y, x], 0)"),
            "S1 shares its outermost loop with S2.");
  EXPECT_FALSE(with_winograd(parsed(convolution(3, 4, 8, 8)), 3));
}

} // namespace
} // namespace kawara::program
