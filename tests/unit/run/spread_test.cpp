#include "run/spread.h"

#include <gtest/gtest.h>

namespace kawara::run {
namespace {

Timing with_spread(double spread) {
  Timing timing;
  timing.spread = spread;
  return timing;
}

TEST(SpreadNote, is_silent_where_times_agree) {
  EXPECT_EQ(spread_note(with_spread(0.1), RanOn::Processor, 3), "");
  EXPECT_EQ(spread_note(with_spread(0.1), RanOn::Gpu, 3), "");
}

TEST(SpreadNote, counts_who_else_wants_a_processor) {
  EXPECT_EQ(spread_note(with_spread(0.25), RanOn::Processor, 1),
            "the times differ by 25 %: 1 other process is busy, measure again when the machine is "
            "quiet\n");
  EXPECT_EQ(spread_note(with_spread(0.25), RanOn::Processor, 2),
            "the times differ by 25 %: 2 other processes are busy, measure again when the machine "
            "is quiet\n");
  EXPECT_EQ(spread_note(with_spread(0.25), RanOn::Processor, 0),
            "the times differ by 25 %: the machine's clock or its caches changed meanwhile, "
            "measure again\n");
}

TEST(SpreadNote, does_not_blame_processes_for_times_of_a_gpu) {
  EXPECT_EQ(spread_note(with_spread(0.5), RanOn::Gpu, 7),
            "the times differ by 50 %: another program used the GPU, or its clock changed "
            "meanwhile, measure again\n");
}

} // namespace
} // namespace kawara::run
