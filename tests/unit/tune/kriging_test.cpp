#include "tune/predict/forest.h"
#include "tune/predict/kriging.h"
#include "tune/rng.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kawara::tune {
namespace {

struct SmoothTable {
  std::vector<std::vector<double>> rows;
  std::vector<double> labels;
};

/// A smooth function of three of four columns.
SmoothTable smooth_table(size_t count, uint64_t seed) {
  SmoothTable t;
  Rng rng(seed);
  for (size_t r = 0; r < count; ++r) {
    std::vector<double> row;
    for (int k = 0; k < 4; ++k)
      row.push_back(rng.unit() * 4);
    t.labels.push_back(std::sin(row[0]) + 0.3 * row[1] * row[2] - 1);
    t.rows.push_back(std::move(row));
  }
  return t;
}

TEST(Kriging, ranks_well_after_few_rows) {
  const SmoothTable seen = smooth_table(40, 1), unseen = smooth_table(200, 2);
  const Kriging near = Kriging::fit(seen.rows, seen.labels);
  std::vector<double> predicted;
  for (const auto& row : unseen.rows)
    predicted.push_back(near.predict(row).mean);
  EXPECT_GT(pair_accuracy(predicted, unseen.labels), 0.9);
}

TEST(Kriging, doubts_more_where_it_has_seen_nothing) {
  const SmoothTable seen = smooth_table(40, 3);
  const Kriging near = Kriging::fit(seen.rows, seen.labels);
  for (size_t r = 0; r < seen.rows.size(); ++r)
    EXPECT_NEAR(near.predict(seen.rows[r]).mean, seen.labels[r], 0.3);
  const Guess inside = near.predict(seen.rows[0]), outside = near.predict({100, 100, 100, 100});
  EXPECT_LT(inside.spread, 0.5 * outside.spread);
  EXPECT_NEAR(outside.mean, 0, 1e-6);
}

TEST(Kriging, takes_rows_that_are_equal_or_none) {
  const Kriging none = Kriging::fit({}, {});
  EXPECT_EQ(none.predict({1, 2}).mean, 0);
  const Kriging same = Kriging::fit({{1, 2}, {1, 2}, {1, 2}}, {0.5, 0.7, 0.6});
  EXPECT_NEAR(same.predict({1, 2}).mean, 0.6, 0.2);
}

} // namespace
} // namespace kawara::tune
