#include "program/contraction.h"

#include <gtest/gtest.h>

namespace kawara::program {
namespace {

Statement update_of(const std::string& value, const std::string& op = "+=") {
  const auto program = parse(make_source("test.kw", "input A: f32[8, 8], B: f32[8, 8], s: f32\n"
                                                    "inout C: f32[8, 8]\n"
                                                    "for i in range(8):\n"
                                                    "  for j in range(8):\n"
                                                    "    for k in range(8):\n"
                                                    "      C[i, j] " +
                                                        op + " " + value + "\n"));
  EXPECT_TRUE(static_cast<bool>(program)) << value;
  return program->statements.front();
}

TEST(Contraction, is_a_sum_whose_value_is_a_product) {
  const Statement update = update_of("A[i, k] * (B[k, j] + 1)");
  const auto found = contraction_of(update);
  ASSERT_TRUE(found.has_value());
  EXPECT_NE(scalar::as<scalar::Load>(found->left), nullptr);
  EXPECT_EQ(scalar::as<scalar::Load>(found->right), nullptr) << "any expression";
  EXPECT_FALSE(contraction_of(update_of("A[i, k] + B[k, j]")));
  EXPECT_FALSE(contraction_of(update_of("A[i, k] * B[k, j]", "max=")));
  EXPECT_FALSE(contraction_of(update_of("A[i, k] * B[k, j]", "=")));
}

TEST(Contraction, has_two_elements_in_any_way) {
  const Statement update = update_of("2 * (A[i, k] - B[k, j])");
  const auto found = summed_pair_of(update);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->first->tensor, 0U);
  EXPECT_EQ(found->second->tensor, 1U);
  EXPECT_FALSE(summed_pair_of(update_of("A[i, k]")));
  EXPECT_FALSE(summed_pair_of(update_of("s * A[i, k] * B[k, j]"))) << "three";
  EXPECT_FALSE(summed_pair_of(update_of("A[i, k] * B[k, j]", "=")));
}

} // namespace
} // namespace kawara::program
