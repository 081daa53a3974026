#include "unit/tune/faulty_bench.h"

#include "tune/measure/pool.h"

#include <gtest/gtest.h>

namespace kawara::tune {
namespace {

std::vector<Outcome> outcomes_of(Pool& pool, const std::vector<std::string>& candidates) {
  std::vector<Outcome> outcomes;
  for (const auto& measured : pool.measure(candidates, {}))
    outcomes.push_back(measured->outcome);
  return outcomes;
}

TEST(Pool, measures_in_the_order_that_was_asked) {
  Pool pool(faulty_benches(), 3, short_limits());
  ASSERT_TRUE(pool.start());
  const auto measured = pool.measure({"0.5", "2", "1", "0.25", "1.5"}, {});
  ASSERT_EQ(measured.size(), 5u);
  const double ratios[] = {0.5, 2, 1, 0.25, 1.5};
  for (size_t k = 0; k < 5; ++k) {
    ASSERT_EQ(measured[k]->samples.own.size(), 5u);
    EXPECT_NEAR(measured[k]->samples.own[1] / measured[k]->samples.theirs[1], ratios[k], 1e-12);
  }
}

TEST(Pool, loses_bad_candidates_only) {
  Pool pool(faulty_benches(), 2, short_limits());
  ASSERT_TRUE(pool.start());
  const std::vector<std::string> candidates{
      "1",           "crash", "1",          "hang", "1",      "wrong", "1",       "refused",
      "crash later", "1",     "hang later", "1",    "greedy", "1",     "overrun", "1"};
  using enum Outcome;
  EXPECT_EQ(outcomes_of(pool, candidates),
            (std::vector<Outcome>{Measured, Crashed, Measured, TimedOut, Measured, Wrong, Measured,
                                  Refused, Crashed, Measured, TimedOut, Measured, OutOfMemory,
                                  Measured, Crashed, Measured}));
  EXPECT_EQ(pool.restarts(), 5);
}

TEST(Pool, goes_on_after_many_crashes) {
  Pool pool(faulty_benches(), 2, short_limits());
  ASSERT_TRUE(pool.start());
  for (int round = 0; round < 10; ++round)
    EXPECT_EQ(outcomes_of(pool, {"crash", "1", "crash later", "crash"}),
              (std::vector<Outcome>{Outcome::Crashed, Outcome::Measured, Outcome::Crashed,
                                    Outcome::Crashed}));
  EXPECT_EQ(pool.restarts(), 30);
}

TEST(Pool, begins_nothing_when_it_is_over) {
  Pool pool(faulty_benches(), 2, short_limits());
  ASSERT_TRUE(pool.start());
  int asked = 0;
  const auto measured =
      pool.measure({"1", "1", "1", "1", "1"}, {}, {[&] { return ++asked > 3; }, {}});
  ASSERT_EQ(measured.size(), 5u);
  EXPECT_TRUE(measured.front());
  EXPECT_FALSE(measured.back());
}

TEST(Pool, says_why_nothing_can_be_tried) {
  Pool pool([]() -> Parsed<std::unique_ptr<Bench>> { throw std::runtime_error("no bench today"); },
            2, short_limits());
  const auto started = pool.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().front().code, "K0606");
  EXPECT_EQ(started.error().front().body.front(), "no bench today");
}

TEST(Guarded, notices_bytes_before_and_after) {
  Guarded memory(100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % 64, 0u);
  EXPECT_TRUE(memory.is_intact());
  memory.data()[99] = std::byte{1};
  EXPECT_TRUE(memory.is_intact());
  memory.data()[100] = std::byte{1};
  EXPECT_FALSE(memory.is_intact());
  memory.data()[100] = std::byte{0xA5};
  EXPECT_TRUE(memory.is_intact());
  memory.data()[-1] = std::byte{1};
  EXPECT_FALSE(memory.is_intact());
}

} // namespace
} // namespace kawara::tune
