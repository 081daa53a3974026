#include "program/rewrites/filled_products.h"

#include "program/interpret/arguments.h"
#include "program/interpret/interpret.h"

#include <gtest/gtest.h>

namespace kawara::program {
namespace {

Program at_sizes(const std::string& text, const std::vector<std::optional<int64_t>>& sizes) {
  const auto parsed = parse(make_source("test.kw", text));
  EXPECT_TRUE(parsed) << text;
  return specialise(*parsed, sizes);
}

const std::string kProduct = "param M, N, K\n"
                             "input A: f32[M, K], B: f32[K, N]\n"
                             "output C: f32[M, N]\n"
                             "C[i, j] = sum(k, A[i, k] * B[k, j])\n";
const std::string kWithTemp = "param M, N, K\n"
                              "input A: f32[3, M, K], B: f32[3, N, K]\n"
                              "output C: f32[3, M, N]\n"
                              "temp acc: f32[3, M, N]\n"
                              "acc[b, i, j] = sum(k, A[b, i, k] * B[b, j, k])\n"
                              "C[b, i, j] = max(acc[b, i, j], 0)\n";
const FillUnits kSmallUnits{8, 4};

void expect_same_results(const std::string& text, const std::vector<int64_t>& sizes) {
  const Program given = at_sizes(text, {sizes[0], sizes[1], sizes[2]});
  const auto filled = with_filled_products(given, kSmallUnits);
  ASSERT_TRUE(filled) << text;
  const auto inputs = pattern_inputs(given, sizes, 3);
  ASSERT_TRUE(inputs);
  const auto want = interpret(given, sizes, *inputs);
  const auto got = interpret(*filled, sizes, *inputs);
  ASSERT_TRUE(want && got) << print(*filled);
  EXPECT_TRUE(want->at("C") == got->at("C")) << print(*filled);
}

TEST(FilledProducts, HaveTheSameResults) {
  expect_same_results(kProduct, {10, 17, 9});
  expect_same_results(kProduct, {16, 17, 12});
  expect_same_results(kWithTemp, {9, 11, 13});
}

TEST(FilledProducts, OnlyWhatIsNotWholeIsCopied) {
  const auto filled = with_filled_products(at_sizes(kProduct, {16, 17, 12}), kSmallUnits);
  ASSERT_TRUE(filled);
  const std::string text = print(*filled);
  EXPECT_EQ(text.find("A_filled"), std::string::npos) << text;
  const auto all = with_filled_products(at_sizes(kProduct, {10, 17, 9}), kSmallUnits);
  ASSERT_TRUE(all);
  EXPECT_NE(print(*all).find("A_filled"), std::string::npos) << print(*all);
  EXPECT_NE(text.find("temp B_filled: f32[12, 24]"), std::string::npos) << text;
  EXPECT_NE(text.find("temp C_filled: f32[16, 24]"), std::string::npos) << text;
}

TEST(FilledProducts, AreLeftAloneElsewhere) {
  const auto is_changed = [](const std::string& text, int64_t m, int64_t n, int64_t k) {
    return with_filled_products(at_sizes(text, {m, n, k}), kSmallUnits).has_value();
  };
  EXPECT_FALSE(is_changed(kProduct, 16, 24, 12));                     // whole
  EXPECT_FALSE(is_changed(kProduct, 7, 24, 12));                      // too small
  EXPECT_FALSE(is_changed("numerics exact\n" + kProduct, 10, 17, 9)); // adds zeros
  EXPECT_FALSE(with_filled_products(at_sizes(kProduct, {10, std::nullopt, 9}), kSmallUnits));
  EXPECT_FALSE(is_changed("param M, N, K\ninput A: f32[M, K]\noutput C: f32[M, M]\n"
                          "C[i, j] = sum(k, A[i, k] * A[j, k])\n",
                          10, 17, 9)); // one tensor
  EXPECT_FALSE(is_changed("param M, N, K\ninput A: f64[M, K], B: f64[K, N]\noutput C: f64[M, N]\n"
                          "C[i, j] = sum(k, A[i, k] * B[k, j])\n",
                          10, 17, 9)); // another type
}

} // namespace
} // namespace kawara::program
