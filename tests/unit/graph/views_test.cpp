#include "graph/views/strided_view.h"

#include <gtest/gtest.h>

#include <random>

namespace kawara::graph::views {
namespace {

/// Elements of the base by their numbers, in the view's order.
std::vector<int64_t> elements_seen(const StridedView& view) {
  std::vector<int64_t> seen{view.offset};
  for (const Walks& walks : view.dims)
    for (const Walk& walk : walks) {
      std::vector<int64_t> further;
      for (const int64_t at : seen)
        for (int64_t k = 0; k < walk.extent; ++k)
          further.push_back(at + k * walk.stride);
      seen = std::move(further);
    }
  return seen;
}

/// What the steps make of a base, one after the other.
std::vector<int64_t> made_by(const ViewSteps& steps, int64_t base) {
  StridedView view = whole_view({base});
  const auto under = [&](const Shape& shape) { view = *reshaped(view, shape); };
  under(steps.split);
  for (size_t k = 0; k < steps.starts.size(); ++k)
    view = *cut(view, k, steps.starts[k], 1, steps.counts[k]);
  if (!steps.order.empty())
    view = transposed(view, steps.order);
  if (!steps.repeated.empty()) {
    under(steps.single);
    view = *expanded(view, steps.repeated);
  }
  under(steps.result);
  return elements_seen(view);
}

TEST(StridedView, SaysWhatTheHeaderSays) {
  const auto five = reshaped(whole_view({2, 5, 36}), {2, 5, 3, 4, 3});
  const auto part = cut(transposed(*five, {2, 0, 3, 1, 4}), 0, 1, 1, 1);
  const auto view = reshaped(*part, {2, 4, 5, 3});
  ASSERT_TRUE(view);
  EXPECT_EQ(view->offset, 12);
  EXPECT_EQ(view->dims, (std::vector<Walks>{{{2, 180}}, {{4, 3}}, {{5, 36}}, {{3, 1}}}));
}

TEST(StridedView, KnowsWhatIsNoView) {
  const StridedView turned = transposed(whole_view({4, 6}), {1, 0});
  EXPECT_FALSE(reshaped(turned, {5, 5})); // not as many elements
  EXPECT_FALSE(reshaped(turned, {8, 3})); // 8 is 6 columns and a third of the next
  EXPECT_TRUE(reshaped(turned, {2, 12}));
  EXPECT_FALSE(cut(*reshaped(turned, {24}), 0, 3, 1, 8)); // begins within a column
  EXPECT_TRUE(cut(*reshaped(turned, {24}), 0, 4, 1, 8));
  EXPECT_FALSE(expanded(turned, {6, 8}));
}

/// Random chains of operators, against the same done to a list of numbers, and against the steps
/// that are written for them.
TEST(StridedView, FollowsRandomChains) {
  std::mt19937 random(20261118);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  size_t written = 0;
  for (int round = 0; round < 2000; ++round) {
    const Shape base{2, static_cast<int64_t>(1 + below(3)), 6, static_cast<int64_t>(2 + below(3))};
    StridedView view = whole_view(base);
    std::vector<int64_t> expected(static_cast<size_t>(view.base_elements));
    for (size_t k = 0; k < expected.size(); ++k)
      expected[k] = static_cast<int64_t>(k);
    for (size_t step = 0, steps = 1 + below(6); step < steps; ++step) {
      const Shape shape = shape_of(view);
      const size_t rank = shape.size(), dim = below(rank);
      std::optional<StridedView> next;
      std::vector<int64_t> moved;
      // The list's places of elements, counted through the whole shape.
      StridedView places = whole_view(shape);
      if (below(3) == 0) {
        std::vector<int64_t> order(rank);
        for (size_t k = 0; k < rank; ++k)
          order[k] = static_cast<int64_t>(k);
        std::shuffle(order.begin(), order.end(), random);
        next = transposed(view, order);
        places = transposed(places, order);
      } else if (below(2) == 0) {
        const int64_t start = static_cast<int64_t>(below(static_cast<size_t>(shape[dim])));
        const int64_t count =
            1 + static_cast<int64_t>(below(static_cast<size_t>(shape[dim] - start)));
        next = cut(view, dim, start, 1, count);
        places = *cut(places, dim, start, 1, count);
      } else if (below(4) == 0) {
        Shape wider = shape;
        wider.insert(wider.begin(), 2);
        next = expanded(view, wider);
        places = *expanded(places, wider);
      } else { // one dimension in two, or two in one
        Shape other = shape;
        if (dim + 1 < rank) {
          other[dim] *= other[dim + 1];
          other.erase(other.begin() + static_cast<std::ptrdiff_t>(dim) + 1);
        } else if (other[dim] % 2 == 0) {
          other[dim] /= 2;
          other.push_back(2);
        }
        next = reshaped(view, other);
      }
      if (!next)
        break;
      view = *next;
      for (const int64_t place : elements_seen(places))
        moved.push_back(expected[static_cast<size_t>(place)]);
      expected = moved;
      ASSERT_EQ(elements_seen(view), expected);
    }
    if (const auto steps = steps_of(view)) {
      ++written;
      ASSERT_EQ(made_by(*steps, view.base_elements), expected);
    }
  }
  EXPECT_GT(written, 1500U);
}

} // namespace
} // namespace kawara::graph::views
