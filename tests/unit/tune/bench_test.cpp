#include "tune/measure/bench.h"

#include <gtest/gtest.h>

namespace kawara::tune {
namespace {

/// Rounds that are taken of a candidate that needs the given seconds where the default needs one.
size_t rounds_of(const Effort& effort, const std::vector<double>& own) {
  size_t at = 0;
  const Samples samples = samples_in_turns(
      effort, [&] { return own.at(at++); }, [] { return 1.0; });
  EXPECT_EQ(samples.own.size(), samples.theirs.size());
  return samples.own.size();
}

TEST(SamplesInTurns, looks_at_a_candidate_that_may_win_in_all_rounds) {
  EXPECT_EQ(rounds_of({}, {0.9, 1.1, 0.9, 1.0, 0.9}), 5u);
}

TEST(SamplesInTurns, gives_a_hopeless_one_up_after_one_round) {
  EXPECT_EQ(rounds_of({}, {3.1}), 1u);
  EXPECT_EQ(rounds_of({}, {2.9, 3.1, 3.1, 3.1, 3.1}), 5u);
}

TEST(SamplesInTurns, gives_an_unlikely_one_up_after_two) {
  Effort effort;
  effort.unlikely = 1.5;
  EXPECT_EQ(rounds_of(effort, {1.6, 1.6}), 2u);
  EXPECT_EQ(rounds_of(effort, {1.6, 1.4, 1.6, 1.6, 1.6}), 5u);
}

TEST(SamplesInTurns, takes_two_rounds_however_long_they_take) {
  Effort effort;
  effort.limit_seconds = 0;
  EXPECT_EQ(rounds_of(effort, {1.0, 1.0}), 2u);
}

} // namespace
} // namespace kawara::tune
