#include "scalar/half.h"
#include "scalar/type.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace kawara::scalar {
namespace {

using Bits = uint16_t (*)(double);
using Value16 = double (*)(uint16_t);

/// The nearest of all 65536 elements, ties to the even one, found by looking at each of them.
uint16_t nearest_by_search(double x, Value16 value, uint16_t infinity) {
  uint16_t best = 0;
  double best_gap = INFINITY;
  for (uint32_t bits = 0; bits < infinity; ++bits) {
    const double gap = std::fabs(value(static_cast<uint16_t>(bits)) - std::fabs(x));
    if (gap < best_gap || (gap == best_gap && bits % 2 == 0)) {
      best = static_cast<uint16_t>(bits);
      best_gap = gap;
    }
  }
  // Infinity stands where the next finite value would be.
  const double last = value(static_cast<uint16_t>(infinity - 1));
  const double step = last - value(static_cast<uint16_t>(infinity - 2));
  if (std::fabs(x) >= last + step / 2)
    best = infinity;
  return static_cast<uint16_t>(best | (std::signbit(x) ? 0x8000 : 0));
}

struct Format {
  Bits bits;
  Value16 value;
  uint16_t infinity;
  uint16_t one;
};

class Half : public testing::TestWithParam<Format> {};

TEST_P(Half, EveryElementComesBack) {
  const Format f = GetParam();
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const double v = f.value(static_cast<uint16_t>(bits));
    if (std::isnan(v))
      EXPECT_TRUE(std::isnan(f.value(f.bits(v))));
    else
      ASSERT_EQ(f.bits(v), bits) << v;
  }
}

TEST_P(Half, MidpointsGoToTheEvenNeighbour) {
  const Format f = GetParam();
  for (uint32_t bits = 0; bits + 1 < f.infinity; ++bits) {
    const double low = f.value(static_cast<uint16_t>(bits));
    const double high = f.value(static_cast<uint16_t>(bits + 1));
    const double middle = low + (high - low) / 2;
    const uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(f.bits(middle), even) << bits;
    ASSERT_EQ(f.bits(std::nextafter(middle, 0.0)), bits) << bits;
    ASSERT_EQ(f.bits(std::nextafter(middle, INFINITY)), bits + 1) << bits;
    ASSERT_EQ(f.bits(-middle), even | 0x8000) << bits;
  }
}

TEST_P(Half, AgreesWithASearchOfAllElements) {
  const Format f = GetParam();
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-30, 18);
  for (int i = 0; i < 40; ++i) {
    const double x = std::exp2(exponent(random)) * (i % 2 == 0 ? 1 : -1);
    EXPECT_EQ(f.bits(x), nearest_by_search(x, f.value, f.infinity)) << x;
  }
}

TEST_P(Half, EndsOfTheRange) {
  const Format f = GetParam();
  EXPECT_EQ(f.bits(1.0), f.one);
  EXPECT_EQ(f.bits(0.0), 0);
  EXPECT_EQ(f.bits(-0.0), 0x8000);
  EXPECT_EQ(f.bits(INFINITY), f.infinity);
  EXPECT_EQ(f.bits(-INFINITY), f.infinity | 0x8000);
  EXPECT_EQ(f.bits(1e300), f.infinity);
  EXPECT_EQ(f.bits(std::numeric_limits<double>::denorm_min()), 0);
  EXPECT_TRUE(std::isnan(f.value(f.bits(NAN))));
}

INSTANTIATE_TEST_SUITE_P(Formats, Half,
                         testing::Values(Format{f16_bits, f16_value, 0x7c00, 0x3c00},
                                         Format{bf16_bits, bf16_value, 0x7f80, 0x3f80}));

TEST(Half, Bf16IsTheUpperHalfOfF32) {
  for (uint32_t bits = 0; bits < 0x7f80; ++bits)
    ASSERT_EQ(bf16_value(static_cast<uint16_t>(bits)),
              static_cast<double>(std::bit_cast<float>(bits << 16)));
}

TEST(Half, KnownF16Values) {
  EXPECT_EQ(f16_value(0x0001), 0x1p-24);
  EXPECT_EQ(f16_value(0x03ff), 1023 * 0x1p-24);
  EXPECT_EQ(f16_value(0x0400), 0x1p-14);
  EXPECT_EQ(f16_value(0x7bff), 65504.0);
  EXPECT_EQ(f16_bits(65519.99), 0x7bff);
  EXPECT_EQ(f16_bits(65520.0), 0x7c00);
}

TEST(RoundTo, RoundsFloatsAndWrapsIntegers) {
  EXPECT_EQ(round_to(Elem::F32, 0.1), static_cast<double>(0.1F));
  EXPECT_EQ(round_to(Elem::F16, 2049.0), 2048.0);
  EXPECT_EQ(round_to(Elem::BF16, 257.0), 256.0);
  EXPECT_EQ(round_to(Elem::F64, 0.1), 0.1);
  EXPECT_EQ(wrap_to(Elem::I8, 200), -56);
  EXPECT_EQ(wrap_to(Elem::U8, -1), 255);
  EXPECT_EQ(wrap_to(Elem::I16, 32768), -32768);
  EXPECT_EQ(wrap_to(Elem::I32, int64_t{1} << 31), -(int64_t{1} << 31));
  EXPECT_EQ(wrap_to(Elem::Bool, 5), 1);
}

TEST(Types, NamesAndComputeTypes) {
  for (const Elem e : {Elem::F64, Elem::F32, Elem::F16, Elem::BF16, Elem::I64, Elem::I32, Elem::I16,
                       Elem::I8, Elem::U8, Elem::Bool})
    EXPECT_EQ(elem_from_name(name_of(e)), e);
  EXPECT_FALSE(elem_from_name("f128"));
  EXPECT_EQ(to_string(Type{Elem::F32, 4}), "f32x4");
  EXPECT_EQ(compute_type(Elem::F16), Elem::F32);
  EXPECT_EQ(compute_type(Elem::U8, Elem::Bool), Elem::I32);
  EXPECT_EQ(compute_type(Elem::I64, Elem::F32), Elem::F32);
  EXPECT_EQ(compute_type(Elem::F32, Elem::F64), Elem::F64);
  EXPECT_EQ(compute_type(Elem::I32, Elem::I64), Elem::I64);
}

} // namespace
} // namespace kawara::scalar
