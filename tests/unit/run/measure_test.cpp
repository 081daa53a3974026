#include "run/measure.h"

#include <gtest/gtest.h>

namespace kawara::run {
namespace {

TEST(Measure, QuotientsAreTakenTurnByTurn) {
  // The machine is three times slower from the third turn on.
  const Timing own = summarise({1, 1, 3, 3, 3}, 1), other = summarise({2, 2, 6, 6, 6}, 1);
  EXPECT_DOUBLE_EQ(quotient(other, own).median, 2);
  EXPECT_DOUBLE_EQ(quotient(other, own).spread, 0);
  // One of the two met it a turn later: the medians alone would say that it is faster.
  const Timing late = summarise({2, 2, 2, 6, 6}, 1);
  EXPECT_DOUBLE_EQ(late.median / own.median, 2.0 / 3);
  EXPECT_DOUBLE_EQ(quotient(late, own).median, 2);
}

} // namespace
} // namespace kawara::run
