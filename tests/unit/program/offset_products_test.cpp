#include "program/rewrites/offset_products.h"

#include "program/interpret/arguments.h"
#include "program/interpret/interpret.h"

#include <gtest/gtest.h>

namespace kawara::program {
namespace {

Program parsed_offset(const std::string& text) {
  auto program = parse(make_source("offset.kw", text));
  EXPECT_TRUE(program) << render(program.error());
  return *std::move(program);
}

/// The rewritten program has the same bits in every output.
void expect_same_bits(const std::string& text) {
  const Program plain = parsed_offset(text);
  const auto other = with_offset_products(plain);
  ASSERT_TRUE(other);
  EXPECT_EQ(spec(*other), std::vector<std::string>{});
  const auto inputs = pattern_inputs(plain, {}, 5);
  ASSERT_TRUE(inputs);
  const auto want = interpret(plain, {}, *inputs), got = interpret(*other, {}, *inputs);
  ASSERT_TRUE(want);
  ASSERT_TRUE(got) << render(got.error());
  for (const auto& [name, array] : *want)
    for (int64_t c = 0; c < array.elements(); ++c)
      ASSERT_EQ(array.get_double(c), got->at(name).get_double(c)) << name << " " << c;
}

constexpr const char* kProduct = "input A: i8[5, 7]\nconst B: i8[7, 6]\noutput C: i32[5, 6]\n"
                                 "C[i, j] = sum(k, A[i, k] * B[k, j])\n";

TEST(OffsetProducts, GiveTheSameBits) {
  expect_same_bits(kProduct);
  expect_same_bits("const A: i8[5, 7]\ninput B: i8[7, 6]\noutput C: i32[5, 6]\n"
                   "C[i, j] = sum(k, A[i, k] * B[k, j])\n");
  expect_same_bits("input X: i8[3, 8, 9]\nconst W: i8[4, 3, 3, 2]\noutput Y: i32[4, 6, 8]\n"
                   "Y[k, y, x] = sum((c, r, s), X[c, y + r, x + s] * W[k, c, r, s])\n");
  expect_same_bits("input A: i8[70, 7], B: i8[7, 6]\noutput C: i32[70, 6]\n"
                   "C[i, j] = sum(k, A[i, k] * B[k, j])\n");
}

TEST(OffsetProducts, AreReadByWhatComesAfter) {
  expect_same_bits("input A: i8[5, 7]\nconst B: i8[7, 6]\noutput D: i32[5, 6]\ntemp C: i32[5, 6]\n"
                   "C[i, j] = sum(k, A[i, k] * B[k, j])\nD[i, j] = C[i, j] * 3\n");
}

TEST(OffsetProducts, MultiplyBytesWithoutASign) {
  const std::string text = print(*with_offset_products(parsed_offset(kProduct)));
  EXPECT_NE(text.find("A_offset: u8[5, 7]"), std::string::npos) << text;
  EXPECT_NE(text.find("C_offset: i32[6]"), std::string::npos) << text;
}

TEST(OffsetProducts, NeedTwoSignedBytesAndAFreshSum) {
  for (const char* text :
       {"input A: u8[5, 7]\nconst B: i8[7, 6]\noutput C: i32[5, 6]\n"
        "C[i, j] = sum(k, A[i, k] * B[k, j])\n",
        "input A: f32[5, 7]\nconst B: f32[7, 6]\noutput C: f32[5, 6]\n"
        "C[i, j] = sum(k, A[i, k] * B[k, j])\n",
        "input A: i8[5, 7]\nconst B: i8[7, 6]\ninout C: i32[5, 6]\n"
        "for i in range(5):\n    for j in range(6):\n        for k in range(7):\n"
        "            C[i, j] += A[i, k] * B[k, j]\n",
        "input A: i8[5, 7], B: i8[7, 6]\noutput C: i32[5, 6]\n"
        "C[i, j] = sum(k, A[i, k] * B[k, j])\n"})
    EXPECT_FALSE(with_offset_products(parsed_offset(text))) << text;
}

} // namespace
} // namespace kawara::program
