#include "driver/check/agreement.h"

#include "driver/check/check_model.h"
#include "driver/model/model.h"
#include "graph/builder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kawara::driver {
namespace {

using graph::DataType;
using graph::Tensor;
using run::Datum;

Datum real_elements(const std::vector<double>& elements, DataType type = DataType::F32) {
  Tensor tensor(type, {static_cast<int64_t>(elements.size())});
  for (size_t k = 0; k < elements.size(); ++k)
    tensor.set_double(static_cast<int64_t>(k), elements[k]);
  return {tensor, false, {}};
}

Datum integer_elements(const std::vector<int64_t>& elements, DataType type = DataType::I64) {
  Tensor tensor(type, {static_cast<int64_t>(elements.size())});
  for (size_t k = 0; k < elements.size(); ++k)
    tensor.set_int(static_cast<int64_t>(k), elements[k]);
  return {tensor, false, {}};
}

constexpr double kNanElement = std::numeric_limits<double>::quiet_NaN(), kInfElement = INFINITY;

TEST(Agreement, OfFloatsIsRelativeToTheLargestElement) {
  const auto a = agreement_of("y", real_elements({1, 4.5, 0}), real_elements({1, 4, 0}));
  EXPECT_DOUBLE_EQ(a.worst, 0.125);
  EXPECT_EQ(a.differing, 1);
  EXPECT_EQ(a.place, "[1]");
  EXPECT_TRUE(is_within(a, {0.125}));
  EXPECT_FALSE(is_within(a, {0.12}));
  EXPECT_EQ(text_of(a), "y: largest difference 1.2e-01 of the largest element, in norm 1.2e-01");
}

TEST(Agreement, NaNIsNaNAndNothingElse) {
  EXPECT_EQ(agreement_of("y", real_elements({kNanElement, kInfElement, -kInfElement}),
                         real_elements({kNanElement, kInfElement, -kInfElement}))
                .differing,
            0);
  for (const auto& [got, expected] :
       std::vector<std::pair<double, double>>{{0, kNanElement},
                                              {kNanElement, 0},
                                              {kInfElement, kNanElement},
                                              {kInfElement, -kInfElement},
                                              {1e30, kInfElement},
                                              {kInfElement, 1e30}}) {
    const auto a = agreement_of("y", real_elements({1, got}), real_elements({1, expected}));
    EXPECT_TRUE(std::isinf(a.worst)) << got << " " << expected;
    EXPECT_FALSE(is_within(a, {1e9})) << got << " " << expected;
  }
  EXPECT_EQ(text_of(agreement_of("y", real_elements({1, 0}), real_elements({1, kNanElement}))),
            "y: 1 element differs; y[1] is 0 instead of nan");
}

TEST(Agreement, IntegersAreExact) {
  const auto a = agreement_of("z", integer_elements({1, 7, 3}), integer_elements({1, 5, 4}));
  EXPECT_EQ(a.differing, 2);
  EXPECT_EQ(a.worst, 2);
  EXPECT_FALSE(is_within(a, {1e9}));
  EXPECT_TRUE(is_within(a, {0, 2}));
  EXPECT_EQ(text_of(a), "z: 2 elements differ; z[1] is 7 instead of 5");
  // Neighbours that no double tells apart, and the whole range.
  const int64_t large = (int64_t{1} << 60) + 1;
  EXPECT_EQ(agreement_of("z", integer_elements({large}), integer_elements({large - 1})).worst, 1);
  EXPECT_GT(agreement_of("z", integer_elements({INT64_MIN}), integer_elements({INT64_MAX})).worst,
            1e19);
  EXPECT_GT(
      agreement_of("z", integer_elements({-1}, DataType::U64), integer_elements({0}, DataType::U64))
          .worst,
      1e19);
  EXPECT_EQ(agreement_of("z", integer_elements({1}, DataType::Bool),
                         integer_elements({0}, DataType::Bool))
                .differing,
            1);
}

TEST(Agreement, AShareOfIntegersMayBeAllowed) {
  const auto a =
      agreement_of("z", integer_elements({1, 2, 3, 700}), integer_elements({1, 2, 3, 4}));
  EXPECT_TRUE(is_within(a, {0, 0, 0.25}));
  EXPECT_FALSE(is_within(a, {0, 0, 0.2}));
}

TEST(Agreement, ElementsMoveByARounding) {
  const Tensor moved = perturbed_by_one_ulp(real_elements({1, 1, 1, 1}).tensor, 1);
  for (int64_t k = 0; k < 4; ++k) {
    EXPECT_NE(moved.get_double(k), 1);
    EXPECT_NEAR(moved.get_double(k), 1, 0x1p-22);
  }
  EXPECT_EQ(perturbed_by_one_ulp(integer_elements({7}).tensor, 1).get_int(0), 7);
}

TEST(Agreement, FormsMustBeTheSame) {
  const auto a = agreement_of("y", real_elements({1, 2}), integer_elements({1, 2}));
  EXPECT_EQ(text_of(a), "y: f32[2] instead of i64[2]");
  EXPECT_FALSE(is_within(a, {1e9, 1e9, 1}));
  EXPECT_FALSE(is_within(agreement_of("y", real_elements({1}), real_elements({1, 2})), {1e9}));
  EXPECT_FALSE(is_within(
      agreement_of({"y", "z"}, {real_elements({1})}, {real_elements({1}), real_elements({1})})[1],
      {1e9}));
  const Datum list{{}, true, {real_elements({1}).tensor, real_elements({2}).tensor}},
      other{{}, true, {real_elements({1}).tensor, real_elements({3}).tensor}};
  EXPECT_EQ(agreement_of("s", list, list).differing, 0);
  EXPECT_EQ(agreement_of("s", list, other).name, "s[1]");
}

TEST(Agreement, AllowsWhatTheContractDoes) {
  const std::vector<std::string> product{"input X0: f32[64, 256], X1: f32[256, 64]\noutput Y0: "
                                         "f32[64, 64]\nY0[i, j] = sum(k, X0[i, k] * X1[k, j])\n"};
  const auto allowed = [&](program::Numerics numerics, DataType type) {
    return allowed_difference(product, numerics, type);
  };
  EXPECT_EQ(allowed(program::Numerics::Exact, DataType::F32), 0);
  EXPECT_GT(allowed(program::Numerics::Rounding, DataType::F32), 1e-6);
  EXPECT_LT(allowed(program::Numerics::Rounding, DataType::F32), 2e-4);
  const std::vector<std::string> fifty(50, product[0]);
  for (const auto& [type, most] : {std::pair(DataType::BF16, 6e-2), {DataType::F16, 8e-3}}) {
    const double narrow = allowed_difference(fifty, program::Numerics::Rounding, type);
    EXPECT_LT(narrow, most) << "a wrong result would pass";
    EXPECT_GT(narrow, most / 3) << "each program rounds what it stores";
  }
}

/// A product and a sum of rows.
graph::Graph checked_net() {
  graph::Builder b("net");
  Tensor weights(DataType::F32, {8, 8});
  for (int64_t k = 0; k < weights.elements(); ++k)
    weights.set_double(k, static_cast<double>(k * 37 % 19 - 9) / 7);
  const ValueId x = b.input("x", DataType::F32, graph::dims_of({5, 8}));
  const ValueId y = b.add("MatMul", "y", {x, b.constant("w", weights)});
  b.output(b.add("Softmax", "p", {y}, {{"axis", int64_t{-1}}}), DataType::F32, {});
  b.output(b.add("ArgMax", "best", {y}, {{"axis", int64_t{1}}}), DataType::I64, {});
  return b.take();
}

ModelResults model_results(const graph::Graph& graph, program::Numerics numerics) {
  ModelOptions options;
  options.code.numerics = numerics;
  Model model(graph, options);
  ModelResults results;
  results.inputs = model.pattern_inputs({});
  const auto outputs = model.run(results.inputs);
  EXPECT_TRUE(outputs);
  results.outputs = *outputs;
  for (const auto& [program, uses] : model.programs())
    results.programs.push_back(program);
  results.numerics = numerics;
  return results;
}

TEST(CheckModel, AcceptsRightResults) {
  for (const auto numerics :
       {program::Numerics::Exact, program::Numerics::Rounding, program::Numerics::Fast}) {
    const auto check = check_model(checked_net(), model_results(checked_net(), numerics));
    ASSERT_TRUE(check) << render(check.error());
    EXPECT_EQ(check->outputs.size(), 2U);
    if (numerics == program::Numerics::Exact) {
      EXPECT_EQ(check->outputs[0].differing, 0);
    }
  }
}

TEST(CheckModel, RefusesWrongOnes) {
  const ModelResults right = model_results(checked_net(), program::Numerics::Rounding);
  ModelResults wrong = right;
  wrong.outputs[0].tensor = Tensor(DataType::F32, right.outputs[0].tensor.shape());
  for (int64_t k = 0; k < wrong.outputs[0].tensor.elements(); ++k)
    wrong.outputs[0].tensor.set_double(k,
                                       right.outputs[0].tensor.get_double(k) + (k == 3 ? 1e-3 : 0));
  const auto check = check_model(checked_net(), wrong);
  ASSERT_FALSE(check);
  EXPECT_EQ(check.error().code, "K0436");
  EXPECT_NE(render(check.error()).find("p: largest difference"), std::string::npos);
  wrong.outputs[0].tensor.set_double(3, kNanElement);
  EXPECT_EQ(check_model(checked_net(), wrong).error().code, "K0436");
  ModelResults off = right;
  off.outputs[1].tensor = Tensor(DataType::I64, right.outputs[1].tensor.shape());
  for (int64_t k = 0; k < off.outputs[1].tensor.elements(); ++k)
    off.outputs[1].tensor.set_int(k, 7 - right.outputs[1].tensor.get_int(k));
  EXPECT_EQ(check_model(checked_net(), off).error().code, "K0436");
}

} // namespace
} // namespace kawara::driver
