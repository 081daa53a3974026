#include "support/zeros.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>

namespace kawara {
namespace {

TEST(Zeros, are_zeros_wherever_they_come_from) {
  constexpr size_t kMega = size_t{1} << 20;
  for (const size_t bytes : {size_t{1}, size_t{1000}, kMega - 1, kMega, kMega + 1, 5 * kMega + 3})
    for (int turn = 0; turn < 2; ++turn) { // the second block may be the first one's memory
      auto* data = static_cast<unsigned char*>(allocate_zeros(bytes));
      ASSERT_NE(data, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0U) << bytes;
      EXPECT_EQ(std::count(data, data + bytes, 0), static_cast<std::ptrdiff_t>(bytes)) << bytes;
      std::fill(data, data + bytes, 7);
      free_zeros(data, bytes);
    }
}

TEST(Zeros, none_are_null) {
  EXPECT_EQ(allocate_zeros(0), nullptr);
  free_zeros(nullptr, 0);
}

TEST(Zeros, are_refused_where_there_is_no_such_block) {
  constexpr size_t kMost = std::numeric_limits<size_t>::max();
  for (const size_t bytes : {kMost, kMost - 4096, kMost / 2})
    EXPECT_THROW(allocate_zeros(bytes), std::bad_alloc) << bytes;
}

} // namespace
} // namespace kawara
