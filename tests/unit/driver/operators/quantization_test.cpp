#include "unit/driver/one_node.h"

namespace kawara::driver::one_node {
namespace {

Tensor bytes(const Shape& shape, const std::vector<int64_t>& elements) {
  return tensor(DataType::I8, shape, elements);
}
Tensor ubytes(const Shape& shape, const std::vector<int64_t>& elements) {
  return tensor(DataType::U8, shape, elements);
}
constexpr int64_t kOnnxU16 = 4, kOnnxI16 = 5, kOnnxI8 = 3, kOnnxF32 = 1, kOnnxF16 = 10;

TEST(Quantization, HasTheTypeThatIsAskedFor) {
  const Tensor x = floats({4}, {-70000, -2, 1.5, 70000}), scale = floats({}, {1});
  const auto to = [&](int64_t number) {
    return run({"QuantizeLinear", {{"output_dtype", number}}, {x, scale}})[0];
  };
  EXPECT_EQ(to(kOnnxU16).type(), DataType::U16);
  expect_elements(to(kOnnxU16), {0, 0, 2, 65535});
  EXPECT_EQ(to(kOnnxI16).type(), DataType::I16);
  expect_elements(to(kOnnxI16), {-32768, -2, 2, 32767});
  expect_elements(to(kOnnxI8), {-128, -2, 2, 127});
  expect_elements(to(0), {0, 0, 2, 255}); // u8
  const Case both{"QuantizeLinear", {{"output_dtype", kOnnxI8}}, {x, scale, ubytes({}, {0})}};
  EXPECT_NE(refusal(both).find("output_dtype is i8, and the zero point is u8"), std::string::npos);
  EXPECT_NE(refusal({"QuantizeLinear", {{"output_dtype", int64_t{17}}}, {x, scale}}), "");
}

TEST(Quantization, KeepsTheUpperHalfOfU16) {
  const Tensor zero = tensor(DataType::U16, {}, std::vector<int64_t>{40000});
  const Tensor x = floats({3}, {-10, 0, 20000});
  const Tensor got = run({"QuantizeLinear", {}, {x, floats({}, {0.5}), zero}})[0];
  EXPECT_EQ(got.type(), DataType::U16);
  expect_elements(got, {39980, 40000, 65535});
  expect_elements(run({"DequantizeLinear", {}, {got, floats({}, {0.5}), zero}})[0],
                  {-10, 0, (65535 - 40000) * 0.5});
}

/// The default axis, 1, is none of a list's: it does not count with one scale.
TEST(Quantization, TakesOneScaleForAList) {
  const Tensor one = floats({1}, {0.5});
  expect_elements(run({"DequantizeLinear",
                       {},
                       {tensor(DataType::I32, {3}, std::vector<int64_t>{-4, 0, 6}), one}})[0],
                  {-2, 0, 3});
  expect_elements(run({"QuantizeLinear", {}, {floats({3}, {-4, 0, 6}), one, bytes({1}, {1})}})[0],
                  {-7, 1, 13});
}

TEST(Quantization, HasAScaleForEachBlock) {
  const Tensor x = floats({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  const Tensor scales = floats({2, 3}, {1, 0.5, 0.25, 2, 4, 5});
  const Tensor zeros = ubytes({2, 3}, {0, 1, 2, 3, 4, 5});
  const Attributes blocks = {{"axis", int64_t{-1}}, {"block_size", int64_t{2}}};
  const Tensor got = run({"QuantizeLinear", blocks, {x, scales, zeros}})[0];
  expect_elements(got, {1, 2, 7, 9, 22, 6, 7, 6, 6, 7});
  expect_elements(run({"DequantizeLinear", blocks, {got, scales, zeros}})[0],
                  {1, 2, 3, 4, 5, 6, 8, 8, 8, 10});
  // Along the other dimension.
  const Tensor rows = floats({1, 5}, {1, 2, 3, 4, 5});
  expect_elements(run({"DequantizeLinear",
                       {{"axis", int64_t{0}}, {"block_size", int64_t{2}}},
                       {bytes({2, 5}, {1, 1, 1, 1, 1, 2, 2, 2, 2, 2}), rows}})[0],
                  {1, 2, 3, 4, 5, 2, 4, 6, 8, 10});
  expect_elements(run({"QuantizeLinear",
                       {{"axis", int64_t{0}}, {"block_size", int64_t{2}}},
                       {floats({1}, {3}), floats({1}, {0.5}), bytes({1}, {1})}})[0],
                  {7});
  EXPECT_NE(refusal({"QuantizeLinear", {{"block_size", int64_t{3}}}, {x, scales, zeros}}), "");
}

TEST(Quantization, DividesWithThePrecisionThatIsAskedFor) {
  // The quotient is 2049.4; of its neighbours f16 has the even ones alone.
  const Tensor x = floats({1}, {4098.8}), scale = floats({}, {2}),
               narrow = tensor(DataType::F16, {}, std::vector<double>{2});
  const auto with = [&](const Tensor& by, int64_t precision) {
    return run(
        {"QuantizeLinear", {{"output_dtype", kOnnxI16}, {"precision", precision}}, {x, by}, 23})[0];
  };
  expect_elements(with(scale, 0), {2049});
  expect_elements(with(scale, kOnnxF16), {2050});
  expect_elements(with(narrow, 0), {2050});
  expect_elements(with(narrow, kOnnxF32), {2049});
}

TEST(Quantization, GivesTheTypeThatIsAskedForBack) {
  const Tensor got = run({"DequantizeLinear",
                          {{"output_dtype", kOnnxF16}},
                          {bytes({2}, {3, -4}), floats({}, {0.5})},
                          23})[0];
  EXPECT_EQ(got.type(), DataType::F16);
  expect_elements(got, {1.5, -2});
}

/// Integer sums of a convolution written down plainly: 2 x 2 windows over [1, 2, 3, 3], 3 filters.
std::vector<double> sums(const Tensor& x, int64_t x_zero, const Tensor& w,
                         const std::vector<int64_t>& w_zero) {
  std::vector<double> out;
  for (int64_t m = 0; m < 3; ++m)
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t j = 0; j < 2; ++j) {
        int64_t sum = 0;
        for (int64_t c = 0; c < 2; ++c)
          for (int64_t p = 0; p < 2; ++p)
            for (int64_t q = 0; q < 2; ++q)
              sum += (x.get_int((c * 3 + i + p) * 3 + j + q) - x_zero) *
                     (w.get_int(((m * 2 + c) * 2 + p) * 2 + q) - w_zero[static_cast<size_t>(m)]);
        out.push_back(static_cast<double>(sum));
      }
  return out;
}

TEST(Quantization, TakesAZeroPointForEachFilter) {
  std::vector<int64_t> image, weights;
  for (int64_t k = 0; k < 18; ++k)
    image.push_back(k * 29 % 200);
  for (int64_t k = 0; k < 24; ++k)
    weights.push_back(k * 31 % 200);
  const Tensor x = ubytes({1, 2, 3, 3}, image), w = ubytes({3, 2, 2, 2}, weights);
  const std::vector<int64_t> zeros = {90, 100, 110};
  const auto meant = sums(x, 100, w, zeros);
  expect_elements(run({"ConvInteger", {}, {x, w, ubytes({}, {100}), ubytes({3}, zeros)}})[0],
                  meant);
  std::vector<double> scaled;
  for (size_t k = 0; k < meant.size(); ++k) {
    const double scale = 0.5 * std::vector<double>{0.01, 0.02, 0.03}[k / 4] / 4;
    scaled.push_back(std::clamp(std::nearbyint(meant[k] * scale) + 7, 0.0, 255.0));
  }
  expect_elements(run({"QLinearConv",
                       {},
                       {x, floats({}, {0.5}), ubytes({}, {100}), w, floats({3}, {0.01, 0.02, 0.03}),
                        ubytes({3}, zeros), floats({}, {4}), ubytes({}, {7})}})[0],
                  scaled, 1e-9);
  EXPECT_NE(refusal({"ConvInteger", {}, {x, w, ubytes({}, {100}), ubytes({2}, {1, 2})}}), "");
}

/// Groups have filters of their own, with their zero points.
TEST(Quantization, TakesAZeroPointForEachFilterOfGroups) {
  const Tensor x = ubytes({1, 2, 1, 2}, {10, 20, 30, 40});
  const Tensor w = ubytes({4, 1, 1, 1}, {1, 2, 3, 4});
  expect_elements(run({"ConvInteger",
                       {{"group", int64_t{2}}},
                       {x, w, ubytes({}, {5}), ubytes({4}, {0, 1, 1, 6})}})[0],
                  {5, 15, 5, 15, 50, 70, -50, -70});
}

std::vector<double> product(const Tensor& a, const std::vector<int64_t>& a_zero, const Tensor& b,
                            const std::vector<int64_t>& b_zero, int64_t stack, int64_t m, int64_t k,
                            int64_t n, bool b_is_stacked) {
  std::vector<double> out;
  for (int64_t s = 0; s < stack; ++s)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        int64_t sum = 0;
        for (int64_t t = 0; t < k; ++t)
          sum += (a.get_int((s * m + i) * k + t) - a_zero[static_cast<size_t>(s * m + i)]) *
                 (b.get_int(((b_is_stacked ? s : 0) * k + t) * n + j) -
                  b_zero[static_cast<size_t>((b_is_stacked ? s : 0) * n + j)]);
        out.push_back(static_cast<double>(sum));
      }
  return out;
}

TEST(Quantization, TakesZeroPointsOfRowsAndColumns) {
  std::vector<int64_t> left, right;
  for (int64_t k = 0; k < 24; ++k)
    left.push_back(k * 37 % 256);
  for (int64_t k = 0; k < 24; ++k)
    right.push_back(k * 41 % 256);
  const std::vector<int64_t> rows = {1, 2, 3}, columns = {4, 5}, all_rows = {1, 2, 3, 11, 12, 13},
                             all_columns = {4, 5, 14, 15};
  const std::vector<int64_t> twice = {1, 2, 3, 1, 2, 3};
  // One matrix each.
  const Tensor a = ubytes({3, 4}, left), b = ubytes({4, 2}, right);
  const auto meant = product(a, rows, b, columns, 1, 3, 4, 2, false);
  for (const Shape& of_rows : {Shape{3}, Shape{3, 1}})
    for (const Shape& of_columns : {Shape{2}, Shape{1, 2}})
      expect_elements(
          run({"MatMulInteger", {}, {a, b, ubytes(of_rows, rows), ubytes(of_columns, columns)}})[0],
          meant);
  // A stack times a matrix, and times a stack.
  const Tensor as = ubytes({2, 3, 4}, left), bs = ubytes({2, 4, 2}, right);
  expect_elements(
      run({"MatMulInteger", {}, {as, b, ubytes({2, 3, 1}, all_rows), ubytes({2}, columns)}})[0],
      product(as, all_rows, b, columns, 2, 3, 4, 2, false));
  expect_elements(run({"MatMulInteger", {}, {as, b, ubytes({3}, rows), ubytes({2}, columns)}})[0],
                  product(as, twice, b, columns, 2, 3, 4, 2, false));
  expect_elements(run({"MatMulInteger",
                       {},
                       {as, bs, ubytes({2, 3, 1}, all_rows), ubytes({2, 1, 2}, all_columns)}})[0],
                  product(as, all_rows, bs, all_columns, 2, 3, 4, 2, true));
  EXPECT_NE(refusal({"MatMulInteger", {}, {a, b, ubytes({4}, {1, 2, 3, 4})}}), "");
}

TEST(Quantization, ScalesRowsAndColumns) {
  const Tensor a = ubytes({2, 2}, {10, 20, 30, 40}), b = ubytes({2, 2}, {1, 2, 3, 4});
  // (a * b) = 70 100 / 150 220, times the scale of its row, and of its column, by that of the
  // result's row.
  const auto got = run({"QLinearMatMul",
                        {},
                        {a, floats({2}, {1, 2}), ubytes({2}, {0, 0}), b, floats({2}, {1, 0.5}),
                         ubytes({2}, {0, 0}), floats({2}, {10, 20}), ubytes({2}, {1, 2})}});
  expect_elements(got[0], {8, 6, 17, 13});
}

} // namespace
} // namespace kawara::driver::one_node
