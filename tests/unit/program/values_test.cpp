#include "program/interpret/values.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <set>

namespace kawara::program {
namespace {

using scalar::Elem;

constexpr Elem kAll[] = {Elem::F64,    Elem::F32,    Elem::F16, Elem::BF16, Elem::I64,
                         Elem::I32,    Elem::I16,    Elem::I8,  Elem::U8,   Elem::Bool,
                         Elem::F8E4M3, Elem::F8E5M2, Elem::U16, Elem::U32,  Elem::U64};

TEST(Array, StartsAsZeroAndAligned) {
  for (const Elem elem : kAll) {
    const Array a(elem, {3, 5});
    EXPECT_EQ(a.elements(), 15);
    EXPECT_EQ(a.bytes(), static_cast<size_t>(15 * scalar::bytes_of(elem)));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % 64, 0U);
    for (int64_t i = 0; i < 15; ++i)
      EXPECT_EQ(a.get_double(i), 0.0);
  }
}

TEST(Array, KeepsWhatItsTypeCanHold) {
  for (const Elem elem : kAll) {
    Array a(elem, {2});
    a.set_double(1, 1.0);
    EXPECT_EQ(a.get_double(1), 1.0) << scalar::name_of(elem);
    EXPECT_EQ(a.get_double(0), 0.0) << scalar::name_of(elem);
  }
  Array half(Elem::F16, {1});
  half.set_double(0, 0.1);
  EXPECT_EQ(half.get_double(0), scalar::round_to(Elem::F16, 0.1));
  Array small(Elem::I8, {1});
  small.set_double(0, -128);
  EXPECT_EQ(small.get_double(0), -128.0);
}

TEST(Array, FindsPositionsInRowMajorOrder) {
  const Array a(Elem::F32, {3, 4});
  const int64_t inside[] = {2, 3}, outside[] = {2, 4}, below[] = {-1, 0};
  EXPECT_EQ(a.position(inside), 11);
  EXPECT_EQ(a.position(outside), -1);
  EXPECT_EQ(a.position(below), -1);
  EXPECT_EQ(Array(Elem::F32, {}).position(nullptr), 0);
}

TEST(FillPattern, IsDeterministicAndInRange) {
  for (const Elem elem : kAll) {
    const Array a = fill_pattern(elem, {200}, 3);
    EXPECT_TRUE(a == fill_pattern(elem, {200}, 3));
    EXPECT_FALSE(a == fill_pattern(elem, {200}, 4));
    std::set<double> seen;
    for (int64_t i = 0; i < a.elements(); ++i) {
      const double v = a.get_double(i);
      seen.insert(v);
      if (scalar::is_float(elem)) {
        EXPECT_GE(v, -1.0);
        EXPECT_LT(v, 1.0);
      } else {
        EXPECT_LE(std::abs(v), 15.0);
      }
    }
    EXPECT_GE(seen.size(), elem == Elem::Bool ? 2U : 10U);
  }
}

} // namespace
} // namespace kawara::program
