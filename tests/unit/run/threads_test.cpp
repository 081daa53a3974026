#include "run/cpu/threads.h"

#include "run/measure.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

namespace kawara::run {
namespace {

using emit::Partition;

struct Seen {
  std::vector<std::atomic<int>> times;
  std::atomic<int64_t> largest_thread{0};
  int64_t lo, step;
};

void record(void* env, int64_t begin, int64_t end, int64_t thread) {
  auto& seen = *static_cast<Seen*>(env);
  for (int64_t i = begin; i < end; i += seen.step)
    seen.times[static_cast<size_t>((i - seen.lo) / seen.step)].fetch_add(1);
  int64_t largest = seen.largest_thread.load();
  while (thread > largest && !seen.largest_thread.compare_exchange_weak(largest, thread)) {}
}

TEST(Threads, CoverTheRangeExactlyOnce) {
  for (const int64_t threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const Partition partition : {Partition::Static, Partition::Dynamic})
      for (const int64_t count : {0, 1, 2, 7, 100})
        for (const int64_t step : {1, 4})
          for (int repeat = 0; repeat < 20; ++repeat) {
            Seen seen{std::vector<std::atomic<int>>(static_cast<size_t>(count)), 0, -5, step};
            const int64_t hi = -5 + count * step - (step > 1 && count > 0 ? 2 : 0);
            pool.parallel_for(-5, hi, step, partition, record, &seen);
            for (const auto& times : seen.times)
              ASSERT_EQ(times.load(), 1);
            EXPECT_LT(seen.largest_thread.load(), threads);
          }
  }
}

TEST(Threads, SleepingWorkersWakeUp) {
  ThreadPool pool(3);
  for (int repeat = 0; repeat < 5; ++repeat) {
    Seen seen{std::vector<std::atomic<int>>(9), 0, 0, 1};
    pool.parallel_for(0, 9, 1, Partition::Static, record, &seen);
    for (const auto& times : seen.times)
      EXPECT_EQ(times.load(), 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

struct Held {
  std::atomic<bool> is_held{false}; ///< one worker's piece waits for all others
  std::atomic<int64_t> done{0};
  std::atomic<bool> is_late{false};
};

TEST(Threads, OthersTakeWhatAThreadHasNotBegun) {
  constexpr int64_t kCount = 64;
  ThreadPool pool(4);
  for (const Partition partition : {Partition::Static, Partition::Dynamic}) {
    Held held;
    const auto body = [](void* env, int64_t begin, int64_t end, int64_t thread) {
      auto& h = *static_cast<Held*>(env);
      const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      if (thread != 0 && !h.is_held.exchange(true))
        while (h.done.load() < kCount - (end - begin) && !h.is_late.load()) {
          std::this_thread::yield();
          h.is_late = std::chrono::steady_clock::now() > until;
        }
      h.done.fetch_add(end - begin);
    };
    pool.parallel_for(0, kCount, 1, partition, body, &held);
    EXPECT_EQ(held.done.load(), kCount);
    EXPECT_FALSE(held.is_late.load()) << "the rest of a share waited for its thread";
  }
}

struct Nested {
  ThreadPool* pool;
  Seen* seen;
};

TEST(Threads, NestedAndConcurrentCallersRunAlone) {
  ThreadPool pool(3);
  Seen seen{std::vector<std::atomic<int>>(10), 0, 0, 1};
  Nested nested{&pool, &seen};
  const auto outer = [](void* env, int64_t begin, int64_t end, int64_t) {
    const auto& n = *static_cast<Nested*>(env);
    for (int64_t i = begin; i < end; ++i)
      n.pool->parallel_for(0, 10, 1, Partition::Static, record, n.seen);
  };
  std::vector<std::thread> callers;
  for (int c = 0; c < 3; ++c)
    callers.emplace_back([&] { pool.parallel_for(0, 8, 1, Partition::Dynamic, outer, &nested); });
  for (std::thread& t : callers)
    t.join();
  for (const auto& times : seen.times)
    EXPECT_EQ(times.load(), 24);
}

TEST(Threads, TheVariableSetsTheirNumber) {
  ::setenv("KAWARA_THREADS", "5", 1);
  EXPECT_EQ(default_threads(), 5);
  ::setenv("KAWARA_THREADS", "none", 1);
  EXPECT_GE(default_threads(), 1);
  for (const char* text : {"none", "0", "-3", "4x", "1025", " 4"}) {
    ::setenv("KAWARA_THREADS", text, 1);
    const auto checked = check_threads();
    ASSERT_FALSE(checked) << text;
    EXPECT_EQ(checked.error().code, "K0451");
  }
  ::setenv("KAWARA_THREADS", "1024", 1);
  EXPECT_TRUE(check_threads());
  ::unsetenv("KAWARA_THREADS");
  EXPECT_TRUE(check_threads());
  EXPECT_GE(default_threads(), 1);
}

TEST(Measure, SummarisesSamples) {
  const Timing t = summarise({5, 1, 2, 4, 3}, 7);
  EXPECT_EQ(t.median, 3);
  EXPECT_EQ(t.min, 1);
  EXPECT_EQ(t.max, 5);
  EXPECT_DOUBLE_EQ(t.spread, 2.0 / 3);
  EXPECT_EQ(t.batch, 7);
  EXPECT_EQ(t.samples.front(), 5);
}

TEST(Measure, TakesTurns) {
  int first = 0, second = 0;
  std::vector<int> order;
  const MeasureOptions options{0.0, 0.0, 5, 1.0};
  const auto timings = measure_interleaved(
      {[&] { ++first, order.push_back(0); }, [&] { ++second, order.push_back(1); }}, options);
  ASSERT_EQ(timings.size(), 2U);
  EXPECT_EQ(timings[0].samples.size(), 5U);
  EXPECT_EQ(first, second);
  // One calibrating call each, then rounds of one batch each.
  EXPECT_EQ(std::vector<int>(order.begin(), order.begin() + 6),
            (std::vector<int>{0, 1, 0, 1, 0, 1}));
}

} // namespace
} // namespace kawara::run
