#include "cache/distances.h"

#include "unit/cache/naive.h"

#include <gtest/gtest.h>

namespace kawara::cache {
namespace {

/// Position of the line in a list of all lines, the last used first.
class NaiveDistances {
public:
  uint64_t use(uint32_t line) {
    const auto at = std::find(lines_.begin(), lines_.end(), line);
    const auto distance = at == lines_.end()
                              ? StackDistances::kFirst
                              : static_cast<uint64_t>(std::distance(lines_.begin(), at));
    if (at != lines_.end())
      lines_.erase(at);
    lines_.push_front(line);
    return distance;
  }

private:
  std::list<uint32_t> lines_;
};

TEST(StackDistances, AreOtherLinesSinceTheLastUse) {
  StackDistances distances(4);
  EXPECT_EQ(distances.use(1), StackDistances::kFirst);
  EXPECT_EQ(distances.use(2), StackDistances::kFirst);
  EXPECT_EQ(distances.use(2), 0U);
  EXPECT_EQ(distances.use(3), StackDistances::kFirst);
  EXPECT_EQ(distances.use(1), 2U);
  EXPECT_EQ(distances.use(2), 2U);
}

TEST(StackDistances, AgreeWithAListOverManyBlocksAndRenumberings) {
  for (const uint32_t lines : {3U, 100U, 3000U}) {
    std::mt19937 random(lines);
    StackDistances distances(lines);
    NaiveDistances naive;
    for (int k = 0; k < 30000; ++k) {
      // Mostly near the last ones, so that distances of all sizes come.
      const uint32_t line = random() % (random() % 4 == 0 ? lines : std::min(lines, 20U));
      ASSERT_EQ(distances.use(line), naive.use(line)) << lines << " lines, use " << k;
    }
  }
}

TEST(Distances, SayWhatCachesOfAllSizesMiss) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const AccessProgram program = RandomProgram(seed).program;
    const DistanceHistogram histogram = distances(program, 64);
    NaiveDistances naive;
    int64_t first = 0, touches = 0;
    std::vector<int64_t> times(2000, 0);
    for (const Touched& t : Trace(program, 64).touched) {
      const uint64_t distance = naive.use(static_cast<uint32_t>(t.line));
      ++touches;
      ++(distance == StackDistances::kFirst ? first : times[distance]);
    }
    EXPECT_EQ(histogram.touches, touches);
    EXPECT_EQ(histogram.first, first);
    for (size_t d = 0; d < histogram.times.size(); ++d)
      ASSERT_EQ(histogram.times[d], times[d]) << "seed " << seed << ", distance " << d;
    for (const int64_t lines : {1, 4, 30}) {
      int64_t misses = first;
      for (size_t d = static_cast<size_t>(lines); d < times.size(); ++d)
        misses += times[d];
      EXPECT_EQ(histogram.misses(lines), misses);
    }
  }
}

} // namespace
} // namespace kawara::cache
