#include "driver/check/check_gpu_model.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kawara::driver {
namespace {

using graph::DataType;
using graph::Tensor;
using run::Datum;

Datum elements_of(const std::vector<double>& elements, DataType type = DataType::F32) {
  Tensor tensor(type, {1, static_cast<int64_t>(elements.size())});
  for (size_t k = 0; k < elements.size(); ++k)
    tensor.set_double(static_cast<int64_t>(k), elements[k]);
  return {std::move(tensor), false, {}};
}

/// A model whose only input is its output on the processor, in f32; `narrow` in narrow types.
Result<GpuCheck, Diagnostic> checked_elements(const std::vector<double>& got,
                                              const std::vector<double>& expected,
                                              DataType floats = DataType::F32,
                                              const std::vector<double>& narrow = {}) {
  return check_gpu_model({"y"}, {{"x", elements_of(expected)}}, {elements_of(got)}, floats,
                         [&](const auto& inputs, DataType type) {
                           return Result<std::vector<Datum>, Diagnostic>(
                               {type == DataType::F32 ? inputs.at("x") : elements_of(narrow)});
                         });
}

std::string code_of(const Result<GpuCheck, Diagnostic>& check) {
  return check ? "" : check.error().code;
}

TEST(CheckGpuModel, AllowsWhatTheContractDoes) {
  EXPECT_EQ(code_of(checked_elements({1 + 5e-5}, {1})), "");
  EXPECT_EQ(code_of(checked_elements({1 + 2e-4}, {1})), "K0737");
  EXPECT_EQ(code_of(checked_elements({1.06}, {1}, DataType::BF16, {1})), "");
  EXPECT_EQ(code_of(checked_elements({1.3}, {1}, DataType::BF16, {1})), "K0737");
  EXPECT_EQ(code_of(checked_elements({1.008}, {1}, DataType::F16, {1})), "");
  EXPECT_EQ(code_of(checked_elements({1.03}, {1}, DataType::F16, {1})), "K0737");
}

TEST(CheckGpuModel, NaNIsNeverNear) {
  EXPECT_EQ(code_of(checked_elements({NAN, 1}, {NAN, 1})), "");
  for (const double other : std::vector<double>{1.0, -INFINITY, NAN}) {
    EXPECT_EQ(code_of(checked_elements({INFINITY, 1}, {other, 1})), "K0737");
    EXPECT_EQ(code_of(checked_elements({other, 1}, {INFINITY, 1}, DataType::BF16, {INFINITY, 1})),
              "K0737");
  }
}

TEST(CheckGpuModel, AModelThatMagnifiesRoundingMayDifferMore) {
  // The inputs move by 1.2e-7, the results by 1000 times as much.
  const auto run = [](const auto& inputs, DataType) {
    const double x = inputs.at("x").tensor.get_double(0);
    return Result<std::vector<Datum>, Diagnostic>({elements_of({1 + 1000 * (x - 1)})});
  };
  const auto check = [&](double got) {
    return code_of(check_gpu_model({"y"}, {{"x", elements_of({1})}}, {elements_of({got})},
                                   DataType::F32, run));
  };
  EXPECT_EQ(check(1.005), "");
  EXPECT_EQ(check(1.02), "K0737");
}

TEST(CheckGpuModel, SaysWhatDiffers) {
  const auto check = checked_elements({0.171, 0.5}, {1, 0.5});
  ASSERT_FALSE(check);
  EXPECT_EQ(render(check.error()),
            "error[K0737]: the model's results differ from those of the processor\n\n"
            "  y: largest difference 8.3e-01 of the largest element, in norm 7.4e-01\n"
            "    y[0, 0] is 0.171000004 instead of 1\n"
            "  Allowed are 1.0e-04 of an output's largest element, and 1 % of its integers.\n\n"
            "  Either the model magnifies rounding, or this is a bug in Kawara; please report it "
            "with\n  the command and its files.\n");
}

/// A deep net in a narrow type: the processor's own roundings say how far results go.
TEST(CheckGpuModel, NarrowResultsMayBeTwiceAsFarAsTheProcessorsAre) {
  EXPECT_EQ(code_of(checked_elements({1, 0.97}, {1, 1}, DataType::F16, {0.98, 1})), "");
  EXPECT_EQ(code_of(checked_elements({1, 0.95}, {1, 1}, DataType::F16, {0.98, 1})), "K0737");
  // One element may be off by so much, not all of them.
  EXPECT_EQ(code_of(checked_elements({0.97, 0.97, 0.97, 0.97}, {1, 1, 1, 1}, DataType::F16,
                                     {0.98, 1, 1, 1})),
            "K0737");
  EXPECT_EQ(code_of(checked_elements({1, 0.6}, {1, 1}, DataType::F16, {0.7, 1})), "K0738");
}

/// A net whose values are below what f16 holds says nothing about the GPU.
TEST(CheckGpuModel, ATypeThatIsTooNarrowOnTheProcessorIsNotTheGpusFault) {
  const auto check = checked_elements({0, 0}, {0x1p-29, -0x1p-30}, DataType::F16, {0, 0});
  EXPECT_EQ(code_of(check), "K0738");
  EXPECT_NE(render(check.error()).find("y[0, 0] is 0 instead of 1.86264515e-09"),
            std::string::npos);
  EXPECT_NE(render(check.error()).find("--type bf16"), std::string::npos);
}

} // namespace
} // namespace kawara::driver
