// What random graphs against ONNX Runtime have found (tests/peers): expected is what the standard
// says.

#include "unit/driver/one_node.h"

#include <limits>

namespace kawara::driver::one_node {
namespace {

constexpr double kHalf = 9223372036854775808.0;                  ///< 2^63
constexpr int64_t kLowest = std::numeric_limits<int64_t>::min(); ///< 2^63 as u64
const std::vector<int64_t> kWide = {0, 1, 7, std::numeric_limits<int64_t>::max(), kLowest, -2, -1};

Tensor wide(const std::vector<int64_t>& elements) {
  return tensor(DataType::U64, {static_cast<int64_t>(elements.size())}, elements);
}
std::vector<int64_t> whole_elements(const Tensor& from) {
  std::vector<int64_t> elements;
  for (int64_t k = 0; k < from.elements(); ++k)
    elements.push_back(from.get_int(k));
  return elements;
}
bool is_below(int64_t a, int64_t b) { return static_cast<uint64_t>(a) < static_cast<uint64_t>(b); }

TEST(WideUnsigned, IsOrderedAsUnsigned) {
  for (const int64_t b : kWide) {
    const std::vector<Tensor> operands{wide(kWide), wide({b})};
    const auto less = run({"Less", {}, operands})[0], greater = run({"Greater", {}, operands})[0],
               no_less = run({"GreaterOrEqual", {}, operands})[0],
               no_greater = run({"LessOrEqual", {}, operands})[0];
    for (size_t k = 0; k < kWide.size(); ++k) {
      const auto at = static_cast<int64_t>(k);
      EXPECT_EQ(less.get_int(at), is_below(kWide[k], b)) << k;
      EXPECT_EQ(greater.get_int(at), is_below(b, kWide[k])) << k;
      EXPECT_EQ(no_less.get_int(at), !is_below(kWide[k], b)) << k;
      EXPECT_EQ(no_greater.get_int(at), !is_below(b, kWide[k])) << k;
    }
  }
}

TEST(WideUnsigned, HasNoSign) {
  EXPECT_EQ(whole_elements(run({"Sign", {}, {wide(kWide)}})[0]),
            (std::vector<int64_t>{0, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(whole_elements(run({"Abs", {}, {wide(kWide)}})[0]), kWide);
}

TEST(WideUnsigned, IsDividedAsUnsigned) {
  for (const int64_t b : kWide) {
    if (b == 0)
      continue;
    const auto got = run({"Div", {}, {wide(kWide), wide({b})}})[0];
    for (size_t k = 0; k < kWide.size(); ++k)
      EXPECT_EQ(static_cast<uint64_t>(got.get_int(static_cast<int64_t>(k))),
                static_cast<uint64_t>(kWide[k]) / static_cast<uint64_t>(b))
          << kWide[k] << " by " << b;
  }
}

TEST(WideUnsigned, ExtremesAndBounds) {
  const Tensor x = wide({3, -1, kLowest, 5});
  EXPECT_EQ(whole_elements(run({"ReduceMax", {}, {x}})[0]), std::vector<int64_t>{-1});
  EXPECT_EQ(whole_elements(run({"ReduceMin", {}, {x}})[0]), std::vector<int64_t>{3});
  EXPECT_EQ(whole_elements(run({"ArgMax", {}, {x}})[0]), std::vector<int64_t>{1});
  EXPECT_EQ(whole_elements(run({"ArgMin", {}, {x}})[0]), std::vector<int64_t>{0});
  const auto scalar = [](int64_t element) { return wide({element}).with_shape({}); };
  EXPECT_EQ(whole_elements(run({"Clip", {}, {x, scalar(4), scalar(kLowest)}})[0]),
            (std::vector<int64_t>{4, kLowest, kLowest, 5}));
}

TEST(WideUnsigned, UpdatesKeepTheLargest) {
  const std::vector<Tensor> operands{wide({3, -1, kLowest}), integers({0, 1, 2}), wide({-2, 5, 7})};
  const auto scattered = [&](const char* how) {
    return whole_elements(run({"ScatterElements", {{"reduction", std::string(how)}}, operands})[0]);
  };
  EXPECT_EQ(scattered("max"), (std::vector<int64_t>{-2, -1, kLowest}));
  EXPECT_EQ(scattered("min"), (std::vector<int64_t>{3, 5, 7}));
}

TEST(WideUnsigned, BecomesAFloatAndComesBack) {
  const auto number = [](DataType type) {
    return type == DataType::F64 ? int64_t{11} : type == DataType::F32 ? int64_t{1} : int64_t{16};
  };
  for (const DataType type : {DataType::F64, DataType::F32, DataType::BF16}) {
    const Tensor made = run({"Cast", {{"to", number(type)}}, {wide({3, kLowest, -1})}})[0];
    EXPECT_EQ(elements_of(made), (std::vector<double>{3, kHalf, 2 * kHalf}));
  }
  const Tensor back =
      run({"Cast", {{"to", int64_t{13}}}, {floats({4}, {2.5, kHalf, 1.5 * kHalf, 0})}})[0];
  EXPECT_EQ(whole_elements(back),
            (std::vector<int64_t>{2, kLowest, kLowest + (int64_t{1} << 62), 0}));
}

TEST(Empty, PartsOfASplitLeaveTheOthersAlone) {
  const auto got = run({"Split", {}, {floats({3}, {1, 2, 3}), integers({0, 3})}, 22, 2});
  EXPECT_EQ(got[0].elements(), 0);
  expect_elements(got[1], {1, 2, 3});
}

TEST(Empty, ExtremesAreTheEndsOfTheType) {
  for (const auto& [type, low, high] :
       std::vector<std::tuple<DataType, int64_t, int64_t>>{{DataType::I8, -128, 127},
                                                           {DataType::U8, 0, 255},
                                                           {DataType::I32, INT32_MIN, INT32_MAX},
                                                           {DataType::I64, INT64_MIN, INT64_MAX},
                                                           {DataType::U64, 0, -1}}) {
    const Case most{"ReduceMax", {}, {Tensor(type, {1, 0})}}, least{"ReduceMin", {}, most.inputs};
    EXPECT_EQ(whole_elements(run(most)[0]), std::vector<int64_t>{low}) << graph::name_of(type);
    EXPECT_EQ(whole_elements(run(least)[0]), std::vector<int64_t>{high}) << graph::name_of(type);
  }
}

TEST(Empty, DimensionsWithoutABorderArePadded) {
  for (const char* mode : {"edge", "reflect", "wrap"})
    EXPECT_EQ(run({"Pad",
                   {{"mode", std::string(mode)}},
                   {Tensor(DataType::F32, {0, 3}), integers({0, 1, 0, 1})}})[0]
                  .shape(),
              (Shape{0, 5}))
        << mode;
}

TEST(Columns, AreDividedWhereAReciprocalLacksDigits) {
  // Divisors that take long to compute are shared by the rows; one of them is infinite.
  const double inf = std::numeric_limits<double>::infinity();
  Tensor x(DataType::F16, {8, 4});
  for (int64_t k = 0; k < x.elements(); ++k)
    x.set_double(k, static_cast<double>(k % 7) + 1);
  const Tensor by = tensor<double>(DataType::F16, {1, 4}, {2, inf, 4, 0.5});
  const auto got = run({"Div", {}, {x, by}})[0];
  for (int64_t k = 0; k < x.elements(); ++k)
    EXPECT_EQ(got.get_double(k), x.get_double(k) / by.get_double(k % 4)) << k;
  Tensor y(DataType::F32, {8, 4});
  for (int64_t k = 0; k < y.elements(); ++k)
    y.set_double(k, k == 6 ? 1e30 : static_cast<double>(k * k % 11));
  const auto norm = run({"MeanVarianceNormalization", {{"axes", std::vector<int64_t>{0}}}, {y}})[0];
  for (int64_t k = 0; k < y.elements(); ++k)
    EXPECT_TRUE(std::isfinite(norm.get_double(k))) << k;
}

TEST(LpNormalization, OfZerosIsZero) {
  for (const int64_t p : {1, 2})
    expect_elements(run({"LpNormalization",
                         {{"axis", int64_t{1}}, {"p", p}},
                         {floats({2, 2}, {0, -0.0, 0, 4})}})[0],
                    {0, 0, 0, 1});
}

TEST(ReduceLogSumExp, OfIntegersLosesItsFraction) {
  for (const DataType type : {DataType::I64, DataType::I32})
    EXPECT_EQ(
        whole_elements(run({"ReduceLogSumExp", {}, {tensor<int64_t>(type, {3}, {7, 9, 900})}})[0]),
        std::vector<int64_t>{900});
}

TEST(MaxPool, FirstOfEqualsIsTheFirstByRows) {
  const Case c{"MaxPool",
               {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"storage_order", int64_t{1}}},
               {floats({1, 2, 2, 2}, {0, 1, 1, 0, 5, 0, 0, 5})},
               22,
               2};
  expect_elements(run(c)[1], {2, 4});
}

TEST(RoiAlign, MaximaAreOfWeightedElements) {
  // One sample in the middle of four elements: each has the weight of a quarter.
  const Case c{
      "RoiAlign",
      {{"mode", std::string("max")}, {"sampling_ratio", int64_t{1}}},
      {floats({1, 1, 2, 2}, {4, 8, -12, 1}), floats({1, 4}, {0.5, 0.5, 1.5, 1.5}), integers({0})},
      16};
  expect_elements(run(c)[0], {2});
}

TEST(Attributes, LeftOutAreFloatsOfFiles) {
  // 1e-5 as f32 is not 1e-5 as f64.
  const auto one = [](double element) { return tensor<double>(DataType::F64, {1}, {element}); };
  const auto got =
      run({"BatchNormalization",
           {},
           {tensor<double>(DataType::F64, {1, 1}, {1}), one(1), one(0), one(0), one(0)}})[0];
  EXPECT_NEAR(got.get_double(0), 1 / std::sqrt(static_cast<double>(1e-5f)), 1e-10);
}

} // namespace
} // namespace kawara::driver::one_node
