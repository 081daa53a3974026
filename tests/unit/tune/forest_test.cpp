#include "tune/confidence.h"
#include "tune/predict/forest.h"
#include "tune/rng.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kawara::tune {
namespace {

struct Table {
  std::vector<std::vector<double>> rows;
  std::vector<double> labels, weights;
};

/// What is learnt depends on two of five columns, one of them by a step.
Table table(size_t count, uint64_t seed) {
  Table t;
  Rng rng(seed);
  for (size_t r = 0; r < count; ++r) {
    std::vector<double> row;
    for (int k = 0; k < 5; ++k)
      row.push_back(rng.unit() * 8);
    t.labels.push_back(std::sin(row[1]) + (row[3] < 4 ? 0 : 2));
    t.weights.push_back(1);
    t.rows.push_back(std::move(row));
  }
  return t;
}

double accuracy(const Forest& forest, const Table& t) {
  std::vector<double> predicted;
  for (const auto& row : t.rows)
    predicted.push_back(forest.predict(row));
  return pair_accuracy(predicted, t.labels);
}

TEST(Forest, learns_what_the_rows_have_in_common) {
  const Table seen = table(200, 1), unseen = table(200, 2);
  const Forest forest = Forest::fit(seen.rows, seen.labels, seen.weights);
  EXPECT_GT(accuracy(forest, seen), 0.97);
  EXPECT_GT(accuracy(forest, unseen), 0.9);
}

TEST(Forest, heavier_rows_count_more) {
  const std::vector<std::vector<double>> rows{{0}, {0}, {1}, {1}};
  const Forest forest = Forest::fit(rows, {0, 10, 5, 5}, {1, 99, 1, 1}, {.trees = 200});
  EXPECT_NEAR(forest.predict({0}), 9.9, 0.1);
  EXPECT_NEAR(forest.predict({1}), 5, 0.1);
}

TEST(Forest, is_text_and_back) {
  const Table seen = table(60, 3);
  const Forest forest = Forest::fit(seen.rows, seen.labels, seen.weights);
  const auto again = Forest::from_json(forest.to_json());
  ASSERT_TRUE(again);
  for (const auto& row : table(20, 4).rows)
    EXPECT_DOUBLE_EQ(again->predict(row), forest.predict(row));
  EXPECT_EQ(again->to_json(), forest.to_json());
}

TEST(Forest, refuses_other_texts) {
  for (const char* text :
       {"", "{}", "[1]", R"({"offset":0,"rate":1,"features":1,"trees":[[]]})",
        R"({"offset":0,"rate":1,"features":1,"trees":[[[0,1,0],[-1,0,0],[-1,0,0]]]})",
        R"({"offset":0,"rate":1,"features":1,"trees":[[[3,1,1],[-1,0,0],[-1,0,0]]]})"})
    EXPECT_FALSE(Forest::from_json(text)) << text;
}

TEST(Forest, counts_pairs_in_the_right_order) {
  EXPECT_DOUBLE_EQ(pair_accuracy({1, 2, 3}, {10, 20, 30}), 1);
  EXPECT_DOUBLE_EQ(pair_accuracy({3, 2, 1}, {10, 20, 30}), 0);
  EXPECT_DOUBLE_EQ(pair_accuracy({1, 1, 2}, {10, 20, 30}), 2.5 / 3);
  EXPECT_DOUBLE_EQ(pair_accuracy({}, {}), 0.5);
}

TEST(Confidence, holds_the_true_median_95_times_in_100) {
  Rng rng(7);
  int held = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<double> samples;
    for (int k = 0; k < 31; ++k)
      samples.push_back(std::exp(4 * rng.unit())); // skewed, as times are
    const Interval interval = median_interval(samples);
    held += interval.low <= std::exp(2.0) && std::exp(2.0) <= interval.high ? 1 : 0;
  }
  EXPECT_GE(held, 376);
}

TEST(Confidence, ratios_do_not_see_what_slows_both) {
  const Interval interval = ratio_interval({1, 10, 2, 5}, {2, 20, 4, 10});
  EXPECT_DOUBLE_EQ(interval.median, 0.5);
  EXPECT_DOUBLE_EQ(interval.low, 0.5);
  EXPECT_DOUBLE_EQ(interval.high, 0.5);
}

} // namespace
} // namespace kawara::tune
