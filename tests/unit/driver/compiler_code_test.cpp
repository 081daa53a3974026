#include "driver/kernels/compiler_code.h"

#include "unit/support/traced.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

namespace kawara::driver {
namespace {

uint64_t sum_of_own_code() {
  uint64_t sum = 0;
  for (const Pages& pages : own_code())
    for (size_t at = 0; at < pages.bytes; at += 64)
      sum = sum * 31 + std::to_integer<uint64_t>(pages.begin[at]);
  return sum;
}

TEST(CompilerCode, leaves_memory_between_stages) {
  if (is_traced())
    GTEST_SKIP() << "a debugger is watching";
  ASSERT_FALSE(own_code().empty());
  CompilerCode code;
  code.trim();
  const uint64_t before = sum_of_own_code();
  const int64_t with_all = resident_bytes().of_files;
  code.trim();
  const int64_t without = resident_bytes().of_files;
  EXPECT_LT(without, with_all);
  EXPECT_EQ(sum_of_own_code(), before);
}

TEST(CompilerCode, does_not_disturb_threads_at_work) {
  CompilerCode code;
  const uint64_t expected = sum_of_own_code();
  std::atomic<bool> is_over = false;
  std::atomic<int> wrong = 0;
  std::thread other([&] {
    while (!is_over)
      wrong += sum_of_own_code() != expected;
  });
  for (int turn = 0; turn < 50; ++turn)
    code.trim();
  is_over = true;
  other.join();
  EXPECT_EQ(wrong, 0);
}

} // namespace
} // namespace kawara::driver
