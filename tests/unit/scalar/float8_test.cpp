#include "scalar/float8.h"

#include <cmath>
#include <gtest/gtest.h>

namespace kawara::scalar {
namespace {

constexpr Elem kFloat8[] = {Elem::F8E4M3, Elem::F8E5M2};

/// The value of a code, from the definition of the format and nothing else.
double decoded(Elem elem, int code) {
  const bool is_e4m3 = elem == Elem::F8E4M3;
  const int fraction_bits = is_e4m3 ? 3 : 2, bias = is_e4m3 ? 7 : 15;
  const int sign = code >> 7, exponent = (code & 0x7f) >> fraction_bits,
            fraction = code & ((1 << fraction_bits) - 1);
  double value = 0;
  if (is_e4m3 && (code & 0x7f) == 0x7f)
    value = NAN;
  else if (!is_e4m3 && exponent == 31)
    value = fraction == 0 ? INFINITY : NAN;
  else if (exponent == 0)
    value = fraction / std::pow(2.0, fraction_bits) * std::pow(2.0, 1 - bias);
  else
    value = (1 + fraction / std::pow(2.0, fraction_bits)) * std::pow(2.0, exponent - bias);
  return sign == 1 ? -value : value;
}

TEST(Float8, EveryCodeHasItsValue) {
  for (const Elem elem : kFloat8)
    for (int code = 0; code < 256; ++code) {
      const double want = decoded(elem, code), got = float8_value(elem, static_cast<uint8_t>(code));
      EXPECT_EQ(std::isnan(want), std::isnan(got)) << code;
      if (!std::isnan(want)) {
        EXPECT_EQ(want, got) << code;
        EXPECT_EQ(std::signbit(want), std::signbit(got)) << code;
      }
    }
}

TEST(Float8, EveryFiniteCodeComesBack) {
  for (const Elem elem : kFloat8)
    for (int code = 0; code < 256; ++code)
      if (std::isfinite(decoded(elem, code))) {
        EXPECT_EQ(float8_bits(elem, decoded(elem, code)), code);
      }
}

TEST(Float8, BetweenNeighboursTheNearestIsTakenAndOfTwoTheEven) {
  for (const Elem elem : kFloat8)
    for (int code = 0; std::isfinite(decoded(elem, code + 1)); ++code) {
      const double low = decoded(elem, code), high = decoded(elem, code + 1);
      const double middle = (low + high) / 2;
      const int even = code % 2 == 0 ? code : code + 1;
      for (const int sign : {1, -1}) {
        const int bit = sign < 0 ? 0x80 : 0;
        EXPECT_EQ(float8_bits(elem, sign * middle), even | bit) << low;
        EXPECT_EQ(float8_bits(elem, sign * std::nextafter(middle, 0.0)), code | bit) << low;
        EXPECT_EQ(float8_bits(elem, sign * std::nextafter(middle, 1e9)), (code + 1) | bit) << low;
      }
    }
}

TEST(Float8, WhatIsTooLargeBecomesTheLargest) {
  for (const double large : {449.0, 464.0, 465.0, 1e30, static_cast<double>(INFINITY)}) {
    EXPECT_EQ(float8_bits(Elem::F8E4M3, large), 0x7e) << large;
    EXPECT_EQ(float8_bits(Elem::F8E4M3, -large), 0xfe) << large;
  }
  for (const double large : {57345.0, 61440.0, 65536.0, static_cast<double>(INFINITY)}) {
    EXPECT_EQ(float8_bits(Elem::F8E5M2, large), 0x7b) << large;
    EXPECT_EQ(float8_bits(Elem::F8E5M2, -large), 0xfb) << large;
  }
  for (const Elem elem : kFloat8)
    EXPECT_EQ(float8_bits(elem, NAN), 0x7f);
}

TEST(Float8, HasATypeOfItsOwn) {
  EXPECT_EQ(name_of(Elem::F8E4M3), "f8e4m3");
  for (const Elem elem : kFloat8) {
    EXPECT_EQ(elem_from_name(name_of(elem)), elem);
    EXPECT_EQ(bytes_of(elem), 1);
    EXPECT_EQ(compute_type(elem), Elem::F32);
    EXPECT_TRUE(holds_all_of(Elem::F16, elem) && holds_all_of(Elem::BF16, elem) &&
                holds_all_of(Elem::F32, elem));
    EXPECT_FALSE(holds_all_of(elem, Elem::F16));
  }
  EXPECT_FALSE(holds_all_of(Elem::F8E5M2, Elem::F8E4M3));
  EXPECT_EQ(round_to(Elem::F8E4M3, 17.0), 16.0);
  EXPECT_EQ(round_to(Elem::F8E5M2, 11.0), 12.0);
}

} // namespace
} // namespace kawara::scalar
