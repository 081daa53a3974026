#include "validate/inverse.h"

#include <gtest/gtest.h>

#include <set>

namespace kawara::validate {
namespace {

using scalar::Expr;
using scalar::int_lit;
using scalar::iter;

Expr div(const Expr& a, int64_t by) {
  return scalar::binary(scalar::BinaryOp::FloorDiv, a, int_lit(by));
}
Expr mod(const Expr& a, int64_t by) {
  return scalar::binary(scalar::BinaryOp::Mod, a, int_lit(by));
}

int64_t value_of(const Expr& e, const std::vector<int64_t>& iters) {
  std::vector<Expr> values;
  for (const int64_t value : iters)
    values.push_back(int_lit(value));
  const auto value = scalar::constant_of(scalar::simplify(scalar::substitute_iters(e, values)));
  EXPECT_TRUE(value);
  return value.value_or(-1);
}

/// All points of a box, the last dimension fastest.
std::vector<std::vector<int64_t>> points_of(const std::vector<int64_t>& counts) {
  std::vector<std::vector<int64_t>> all{{}};
  for (const int64_t count : counts) {
    std::vector<std::vector<int64_t>> next;
    for (const auto& point : all)
      for (int64_t value = 0; value < count; ++value) {
        next.push_back(point);
        next.back().push_back(value);
      }
    all = std::move(next);
  }
  return all;
}

/// Loops of these counts, whose instances are `iters`, against all of them one by one: each point
/// is found again, and what the conditions say of instances in a larger box is whether one of the
/// points runs them.
void expect_way_back(const std::vector<int64_t>& counts, const std::vector<Expr>& iters,
                     const std::vector<int64_t>& box) {
  DimensionRanges ranges;
  std::vector<Expr> conditions;
  for (uint32_t d = 0; d < counts.size(); ++d) {
    ranges[d] = {0, counts[d] - 1};
    conditions.push_back(scalar::binary(scalar::BinaryOp::Ge, iter(d), int_lit(0)));
    conditions.push_back(scalar::binary(scalar::BinaryOp::Lt, iter(d), int_lit(counts[d])));
  }
  const auto inverse = inverse_of(iters, counts.size(), ranges);
  ASSERT_TRUE(inverse);
  std::set<std::vector<int64_t>> run;
  for (const std::vector<int64_t>& point : points_of(counts)) {
    std::vector<int64_t> instance;
    for (const Expr& e : iters)
      instance.push_back(value_of(e, point));
    EXPECT_TRUE(run.insert(instance).second);
    for (size_t d = 0; d < counts.size(); ++d)
      EXPECT_EQ(value_of(inverse->dimensions[d], instance), point[d]) << d;
  }
  for (const std::vector<int64_t>& instance : points_of(box)) {
    bool runs = true;
    for (const Expr& condition : inverse->conditions())
      runs = runs && value_of(condition, instance) == 1;
    for (const Expr& condition : conditions)
      runs = runs && value_of(inverse->of_instance(condition), instance) == 1;
    for (size_t d = 0; d < iters.size(); ++d)
      if (!inverse->is_sum_of_digits[d])
        runs = runs && value_of(inverse->of_instance(iters[d]), instance) == instance[d];
    EXPECT_EQ(runs, run.contains(instance));
  }
}

TEST(Inverse, OfTiles) { expect_way_back({3, 4}, {iter(0) * int_lit(4) + iter(1)}, {16}); }

/// Blocks of a grid counted by one loop: the last remainder stands at the top of its iterator,
/// where nothing else bounds it.
TEST(Inverse, OfLoopsCountedAsOne) {
  expect_way_back({12, 4}, {div(iter(0), 3) * int_lit(4) + iter(1), mod(iter(0), 3)}, {20, 6});
  expect_way_back({12, 4}, {mod(iter(0), 3), div(iter(0), 3) * int_lit(4) + iter(1)}, {6, 20});
  // Not all of the last quotient.
  expect_way_back({11, 4}, {div(iter(0), 3) * int_lit(4) + iter(1), mod(iter(0), 3)}, {20, 6});
  // Three loops.
  expect_way_back({24}, {div(iter(0), 12), mod(div(iter(0), 3), 4), mod(iter(0), 3)}, {4, 6, 5});
  expect_way_back({24}, {div(iter(0), 12), div(mod(iter(0), 12), 3), mod(iter(0), 3)}, {4, 6, 5});
}

/// Threads and lanes that share rows.
TEST(Inverse, OfSumsThatAreDivided) {
  const Expr element = iter(0) * int_lit(4) + iter(1);
  expect_way_back({8, 4, 3}, {iter(2) * int_lit(2) + div(element, 16), mod(element, 16)}, {8, 20});
  // Some lanes alone.
  expect_way_back({8, 3}, {div(element, 16), mod(element, 16)}, {4, 20});
}

TEST(Inverse, IsNotGuessed) {
  const DimensionRanges ranges{{0, {0, 11}}, {1, {0, 3}}};
  // The quotient is in no iterator; divisors that do not divide each other; digits that overlap.
  EXPECT_FALSE(inverse_of({mod(iter(0), 3)}, 1, ranges));
  EXPECT_FALSE(inverse_of({div(iter(0), 3), mod(iter(0), 4)}, 1, ranges));
  EXPECT_FALSE(inverse_of({div(iter(0) + iter(1), 4), mod(iter(0) + iter(1), 4)}, 2, ranges));
}

TEST(Ranges, AreCutByWhatIsExcluded) {
  using scalar::binary;
  using scalar::BinaryOp;
  const auto no = [](const Expr& e) { return scalar::unary(scalar::UnaryOp::Not, e); };
  const std::vector<Expr> box = {binary(BinaryOp::Ge, iter(0), int_lit(0)),
                                 binary(BinaryOp::Lt, iter(0), int_lit(58))};
  const auto range = [&](std::vector<Expr> more) {
    more.insert(more.begin(), box.begin(), box.end());
    return ranges_in(more).at(0);
  };
  const Expr inside = binary(BinaryOp::And, binary(BinaryOp::Ge, iter(0), int_lit(1)),
                             binary(BinaryOp::Le, iter(0), int_lit(56)));
  using Range = std::pair<int64_t, int64_t>;
  EXPECT_EQ(range({}), (Range{0, 57}));
  EXPECT_EQ(range({no(binary(BinaryOp::Lt, iter(0), int_lit(15)))}), (Range{15, 57}));
  EXPECT_EQ(range({binary(BinaryOp::Eq, iter(0), int_lit(57))}), (Range{57, 57}));
  EXPECT_EQ(range({no(inside)}), (Range{0, 57}));
  EXPECT_EQ(range({no(inside), no(binary(BinaryOp::Eq, iter(0), int_lit(57)))}), (Range{0, 0}));
  EXPECT_EQ(range({no(inside), no(binary(BinaryOp::Eq, iter(0), int_lit(0)))}), (Range{57, 57}));
}

} // namespace
} // namespace kawara::validate
