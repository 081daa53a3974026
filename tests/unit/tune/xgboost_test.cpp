#include "tune/predict/xgboost.h"
#include "tune/rng.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kawara::tune {
namespace {

struct Sheet {
  std::vector<std::vector<double>> rows;
  std::vector<double> labels, weights;
};

/// A step in one column and a curve in another; the third says nothing.
Sheet sheet(size_t count, uint64_t seed) {
  Sheet s;
  Rng rng(seed);
  for (size_t r = 0; r < count; ++r) {
    s.rows.push_back({rng.unit() * 8, rng.unit() * 8, rng.unit()});
    s.labels.push_back(std::sin(s.rows[r][0]) + (s.rows[r][1] < 4 ? 0 : 2));
    s.weights.push_back(1);
  }
  return s;
}

double pairs_right(const Forest& forest, const Sheet& s) {
  std::vector<double> predicted;
  for (const auto& row : s.rows)
    predicted.push_back(forest.predict(row));
  return pair_accuracy(predicted, s.labels);
}

class WithXGBoost : public testing::Test {
protected:
  void SetUp() override {
    auto opened = XGBoost::open();
    ASSERT_TRUE(opened) << opened.error().headline << "; install libxgboost0";
    library = *opened;
  }
  std::shared_ptr<const XGBoost> library;
};

TEST_F(WithXGBoost, learns_what_the_rows_have_in_common) {
  const Sheet seen = sheet(200, 1), unseen = sheet(200, 2);
  const Forest forest = library->fit(seen.rows, seen.labels, seen.weights);
  EXPECT_GT(pairs_right(forest, seen), 0.95);
  EXPECT_GT(pairs_right(forest, unseen), 0.9);
}

TEST_F(WithXGBoost, heavier_rows_count_more) {
  const std::vector<std::vector<double>> rows{{0}, {0}, {1}, {1}};
  const Forest forest = library->fit(rows, {0, 10, 5, 5}, {1, 99, 50, 50}, {.trees = 300});
  EXPECT_NEAR(forest.predict({0}), 9.9, 0.2);
  EXPECT_NEAR(forest.predict({1}), 5, 0.2);
}

TEST_F(WithXGBoost, the_same_rows_give_the_same_trees_which_need_no_library) {
  const Sheet seen = sheet(80, 3);
  const Forest forest = library->fit(seen.rows, seen.labels, seen.weights);
  EXPECT_EQ(library->fit(seen.rows, seen.labels, seen.weights).to_json(), forest.to_json());
  const auto again = Forest::from_json(forest.to_json());
  ASSERT_TRUE(again);
  for (const auto& row : seen.rows)
    EXPECT_DOUBLE_EQ(again->predict(row), forest.predict(row));
}

TEST(XGBoost, says_what_to_do_where_there_is_none) {
  const auto opened = XGBoost::open({"libabsent.so"});
  ASSERT_FALSE(opened);
  EXPECT_EQ(render(Diagnostics{opened.error()}),
            "error[K0646]: cannot learn with XGBoost: its library is not on this machine\n"
            "\n"
            "  Could not open libabsent.so.\n"
            "\n"
            "  help: install it:              apt-get install libxgboost0\n"
            "  help: use Kawara's own trees:  --learner trees\n");
}

} // namespace
} // namespace kawara::tune
