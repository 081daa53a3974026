#include "driver/tape/result_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace kawara::driver {
namespace {

constexpr int64_t kLarge = 100'000;

TEST(ResultMemory, IsLentAgainWhenTheLastCopyIsGone) {
  ResultMemory memory;
  auto first = memory.take(kLarge);
  const auto copy = first;
  const std::byte* elements = first.get();
  first.reset();
  EXPECT_EQ(memory.waiting_bytes(), 0) << "a copy is left";
  EXPECT_NE(memory.take(kLarge).get(), elements);
}

TEST(ResultMemory, ServesResultsThatGrowALittle) {
  ResultMemory memory;
  auto first = memory.take(kLarge);
  const std::byte* elements = first.get();
  first.reset();
  EXPECT_GE(memory.waiting_bytes(), kLarge);
  auto second = memory.take(kLarge + 1000);
  EXPECT_EQ(second.get(), elements);
  EXPECT_EQ(memory.waiting_bytes(), 0);
  std::memset(second.get(), 1, kLarge + 1000);
  second.reset();
  EXPECT_NE(memory.take(kLarge / 4).get(), elements) << "far too large";
}

TEST(ResultMemory, KeepsNoMoreThanWasLentAtOnce) {
  ResultMemory memory;
  int64_t most = 0;
  for (int64_t call = 1; call <= 20; ++call) { // sizes that do not fit each other
    const auto a = memory.take(call * kLarge), b = memory.take(call * kLarge);
    most = 2 * call * kLarge * 9 / 8;
    EXPECT_LE(memory.waiting_bytes(), most);
  }
  EXPECT_LE(memory.waiting_bytes(), most);
  EXPECT_GE(memory.waiting_bytes(), 2 * 20 * kLarge);
}

TEST(ResultMemory, OutlivesItsLender) {
  std::shared_ptr<std::byte> kept;
  {
    ResultMemory memory;
    kept = memory.take(kLarge);
  }
  std::memset(kept.get(), 1, kLarge);
}

TEST(ResultMemory, ComesBackFromOtherThreads) {
  ResultMemory memory;
  for (int round = 0; round < 20; ++round) {
    // All are taken before the first comes back, so that none serves twice.
    std::vector<std::shared_ptr<std::byte>> pieces;
    for (int64_t k = 1; k <= 4; ++k)
      pieces.push_back(memory.take(k * kLarge));
    std::vector<std::thread> threads;
    for (int64_t k = 1; k <= 4; ++k)
      threads.emplace_back([piece = std::move(pieces[static_cast<size_t>(k - 1)]), k]() mutable {
        std::memset(piece.get(), static_cast<int>(k), static_cast<size_t>(k * kLarge));
        piece.reset();
      });
    for (std::thread& thread : threads)
      thread.join();
  }
  EXPECT_GE(memory.waiting_bytes(), 10 * kLarge);
  EXPECT_LE(memory.waiting_bytes(), 10 * kLarge * 9 / 8 * 5 / 4);
}

} // namespace
} // namespace kawara::driver
