#include "unit/driver/one_node.h"

#include "run/functions/function.h"

#include <bit>
#include <limits>

// Functions that are formulas of others, against those of the C library in f64.

namespace kawara::driver::one_node {
namespace {

struct OfTheLibrary {
  const char* op;
  double (*function)(double);
};
constexpr OfTheLibrary kOfTheLibrary[] = {
    {"Acos", std::acos},   {"Acosh", std::acosh}, {"Asin", std::asin},
    {"Asinh", std::asinh}, {"Atan", std::atan},   {"Atanh", std::atanh},
    {"Cosh", std::cosh},   {"Sinh", std::sinh},   {"Tan", std::tan},
};

class InverseFunctions : public testing::TestWithParam<OfTheLibrary> {};

/// Every exponent and sign, and densely where functions bend.
Tensor samples() {
  std::vector<float> x;
  for (uint32_t top = 0; top < 512; ++top)
    for (uint32_t i = 0; i < 64; ++i)
      x.push_back(std::bit_cast<float>(top << 23 | (i * 130003U + top * 7919U) % (1U << 23)));
  for (int32_t i = -20000; i <= 20000; ++i)
    x.push_back(static_cast<float>(i) * 1.7e-4F);
  for (const float special :
       {0.0F, 0.5F, 1.0F, 2.4142137F, 0.41421357F, 88.7F, 89.4F, 1e9F, 1.5F,
        std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    x.push_back(special);
    x.push_back(-special);
  }
  Tensor out(DataType::F32, {static_cast<int64_t>(x.size())});
  std::copy(x.begin(), x.end(), out.as<float>());
  return out;
}

TEST_P(InverseFunctions, AreWithinFourUnitsAndKeepSignsAndNaN) {
  const Tensor x = samples();
  Model model(graph_of({GetParam().op, {}, {x}}));
  const auto results = model.run({{"x0", {x, false, {}}}});
  ASSERT_TRUE(results);
  EXPECT_EQ(model.programs().size(), 1U) << "a function is called";
  const Tensor& y = (*results)[0].tensor;
  double most = 0, at = 0;
  for (int64_t k = 0; k < x.elements(); ++k) {
    const double v = x.get_double(k), got = y.get_double(k), want = GetParam().function(v);
    const auto nearest = static_cast<float>(want);
    if (std::isnan(want) || std::isinf(nearest) || nearest == 0) {
      ASSERT_TRUE(std::isnan(want) ? std::isnan(got) : got == static_cast<double>(nearest))
          << GetParam().op << " of " << v << " is " << got;
      ASSERT_TRUE(std::isnan(want) || std::signbit(got) == std::signbit(want)) << v;
      continue;
    }
    int exponent = 0;
    std::frexp(want, &exponent);
    const double units = std::abs(got - want) / std::ldexp(1.0, std::max(exponent, -125) - 24);
    if (units > most) {
      most = units;
      at = v;
    }
  }
  EXPECT_LE(most, 4.0) << GetParam().op << " of " << at;
  EXPECT_GT(most, 0.5) << "not the formula";
}

/// f64 has more digits than the formulas.
TEST_P(InverseFunctions, OfF64AreThoseOfTheCLibrary) {
  const Tensor x = tensor(DataType::F64, {3}, std::vector<double>{0.3, 0.7, 0.9});
  const auto results = Model(graph_of({GetParam().op, {}, {x}})).run({{"x0", {x, false, {}}}});
  ASSERT_TRUE(results);
  for (int64_t k = 0; k < 3; ++k) {
    const double want = GetParam().function(x.get_double(k));
    EXPECT_TRUE(std::isnan(want) || (*results)[0].tensor.get_double(k) == want);
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, InverseFunctions, testing::ValuesIn(kOfTheLibrary),
                         [](const auto& function) { return std::string(function.param.op); });

} // namespace
} // namespace kawara::driver::one_node
