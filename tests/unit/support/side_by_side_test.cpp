#include "support/side_by_side.h"

#include "support/trace.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

namespace kawara {
namespace {

TEST(SideBySide, AnExceptionOfAnyThreadComesBack) {
  std::atomic<int> calls = 0;
  EXPECT_THROW(side_by_side(4,
                            [&] {
                              if (calls++ == 2)
                                throw std::runtime_error("third");
                            }),
               std::runtime_error);
  EXPECT_EQ(calls, 4) << "the others end first";
  EXPECT_NO_THROW(side_by_side(3, [] {}));
}

TEST(Trace, AddsTheTimesOfAnother) {
  double now = 0;
  TraceOptions options;
  options.now = [&] { return now; };
  const auto spend = [&](Trace& trace, const char* stage, double seconds) {
    trace.stage(stage, [&] { now += seconds; });
  };
  Trace one(options), two(options);
  spend(one, "poly", 1);
  spend(two, "poly", 2);
  spend(two, "emit", 4);
  one.add(two);
  ASSERT_EQ(one.times().size(), 2U);
  EXPECT_EQ(one.times()[0].seconds, 3);
  EXPECT_EQ(one.times()[0].runs, 2U);
  EXPECT_EQ(one.times()[1].name, "emit");
}

} // namespace
} // namespace kawara
