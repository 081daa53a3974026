#include "driver/gpu_agreement.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kawara::driver {
namespace {

using graph::DataType;
using graph::Tensor;
using run::Datum;

Datum row(DataType type, const std::vector<double>& cells) {
  Tensor tensor(type, {static_cast<int64_t>(cells.size())});
  for (size_t k = 0; k < cells.size(); ++k)
    tensor.set_double(static_cast<int64_t>(k), cells[k]);
  return {std::move(tensor), false, {}};
}

Agreement between(const std::vector<double>& got, const std::vector<double>& expected,
                  DataType type = DataType::F32) {
  return agreement_of({row(type, got)}, {row(type, expected)});
}

TEST(GpuAgreement, IsRelativeToTheLargestCell) {
  const Agreement found = between({1, 2, 4.5}, {1, 2, 4});
  EXPECT_DOUBLE_EQ(found.worst, 0.125);
  EXPECT_NEAR(found.spread, 0.5 / std::sqrt(21.0), 1e-12);
  EXPECT_EQ(found.where, "output 0[2] is 4.5 instead of 4");
  EXPECT_EQ(between({1, 2}, {1, 2}).where, "");
}

TEST(GpuAgreement, WhatIsNoNumberOnOneSideIsNeverNear) {
  EXPECT_EQ(between({NAN, 1}, {NAN, 1}).worst, 0);
  EXPECT_EQ(between({INFINITY, 1}, {INFINITY, 1}).worst, 0);
  for (const double other : std::vector<double>{1.0, -INFINITY, NAN}) {
    EXPECT_FALSE(is_within(between({INFINITY, 1}, {other, 1}), allowed_agreement(DataType::BF16)));
    EXPECT_FALSE(is_within(between({other, 1}, {INFINITY, 1}), allowed_agreement(DataType::BF16)));
  }
}

TEST(GpuAgreement, IntegersAreTheSameOrNot) {
  const Agreement found = between({1, 2, 3, 700}, {1, 2, 3, 4}, DataType::I64);
  EXPECT_EQ(found.worst, 0);
  EXPECT_DOUBLE_EQ(found.changed, 0.25);
  EXPECT_FALSE(is_within(found, allowed_agreement(DataType::F32)));
  EXPECT_FALSE(
      is_within(agreement_of({row(DataType::F32, {1})}, {row(DataType::I32, {1})}), {1, 1}));
}

TEST(GpuAgreement, ContractsAllowSoMuch) {
  const auto is_fine = [](double off, DataType floats) {
    return is_within(between({1 + off}, {1}), allowed_agreement(floats));
  };
  EXPECT_TRUE(is_fine(5e-5, DataType::F32));
  EXPECT_FALSE(is_fine(2e-4, DataType::F32));
  EXPECT_TRUE(is_fine(0.06, DataType::BF16));
  EXPECT_FALSE(is_fine(0.3, DataType::BF16));
  EXPECT_TRUE(is_fine(0.008, DataType::F16));
  EXPECT_FALSE(is_fine(0.03, DataType::F16));
  // A model that moves with its inputs' roundings.
  EXPECT_DOUBLE_EQ(allowed_agreement(between({1 + 1e-5}, {1})).worst,
                   64 * between({1 + 1e-5}, {1}).worst);
  EXPECT_DOUBLE_EQ(allowed_agreement(between({2}, {1})).worst, 1e-2);
}

TEST(GpuAgreement, ADifferenceBeyondTheContractIsAnError) {
  const AllowedAgreement allowed = allowed_agreement(DataType::F32);
  EXPECT_FALSE(refuse_difference(between({1}, {1}), allowed, "the processor"));
  const auto problem = refuse_difference(between({0.171, 0.5}, {1, 0.5}), allowed, "the processor");
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->code, "K0737");
  EXPECT_EQ(render({*problem}),
            "error[K0737]: the model's results differ from those of the processor\n\n"
            "  output 0[0] is 0.171000004 instead of 1.\n\n"
            "  The largest difference is 8.29e-01 of the output's largest cell, more than "
            "1.00e-04.\n\n"
            "  Either the model magnifies rounding, or this is a bug in Kawara; please report it "
            "with\n  the command and its files.\n");
  EXPECT_TRUE(refuse_difference(between({NAN}, {1}), allowed, "the processor"));
}

TEST(GpuAgreement, InputsMoveByARounding) {
  const auto moved = rounded_elsewhere({row(DataType::F32, {1, 1, 1, 1}), row(DataType::I64, {7})});
  for (int64_t k = 0; k < 4; ++k) {
    EXPECT_NE(moved[0].tensor.get_double(k), 1);
    EXPECT_NEAR(moved[0].tensor.get_double(k), 1, 0x1p-22);
  }
  EXPECT_EQ(moved[1].tensor.get_int(0), 7);
}

} // namespace
} // namespace kawara::driver
