#include "estimate/duplicates/duplicates.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace kawara::estimate {
namespace {

struct Convolution {
  int64_t size = 1, channels = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;
  int64_t out() const { return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1; }
};

/// An image of channels by rows by columns; its workspace in the order of the table: channel, row
/// of the filter, column of the filter.
Window window_of(const Convolution& c) {
  Window made;
  made.iterators = {{"y", c.out(), true},
                    {"x", c.out(), true},
                    {"c", c.channels, false},
                    {"r", c.kernel, false},
                    {"s", c.kernel, false}};
  made.dimensions = {{c.channels, 0, {{2, 1}}},
                     {c.size, -c.padding, {{0, c.stride}, {3, c.dilation}}},
                     {c.size, -c.padding, {{1, c.stride}, {4, c.dilation}}}};
  return made;
}

std::string three(double factor) { return fmt::format("{:.3f}", factor); }

/// The table of docs/notes/duplicated_loads.md: workspace without padding over image.
TEST(Window, HasThePublishedFactors) {
  const auto factor = [](const Convolution& c) { return three(loads_of(window_of(c)).factor()); };
  EXPECT_EQ(factor({5, 1, 3}), "3.240");
  EXPECT_EQ(factor({227, 3, 11, 4}), "7.103");
  EXPECT_EQ(factor({13, 256, 3, 1, 1}), "8.101");
  EXPECT_EQ(factor({224, 3, 3, 1, 1}), "8.947");
  EXPECT_EQ(factor({224, 3, 7, 2, 3}), "12.063");
  EXPECT_EQ(factor({56, 64, 3, 1, 1}), "8.787");
  EXPECT_EQ(factor({28, 128, 3, 1, 1}), "8.577");
  EXPECT_EQ(factor({14, 256, 3, 1, 1}), "8.163");
  EXPECT_EQ(factor({7, 512, 3, 1, 1}), "7.367");
}

std::pair<int64_t, int64_t> pieces(const Convolution& c, int64_t piece) {
  const Loads loads = *piece_loads_of(window_of(c), piece);
  return {static_cast<int64_t>(loads.loads), static_cast<int64_t>(loads.elements)};
}

/// Pieces of two and eight f16: duplicates are of elements, and gone at the size of a cache's
/// piece.
TEST(Window, HasThePublishedFactorsOfPieces) {
  using Counts = std::pair<int64_t, int64_t>;
  EXPECT_EQ(pieces({5, 1, 3}, 2), Counts(45, 36));
  EXPECT_EQ(pieces({5, 1, 3}, 8), Counts(18, 18));
  EXPECT_EQ(pieces({227, 3, 11, 4}, 8), Counts(139150, 110000));
  const auto factor = [](const Convolution& c, int64_t piece) {
    return three(piece_loads_of(window_of(c), piece)->factor());
  };
  EXPECT_EQ(factor({227, 3, 11, 4}, 2), "5.416");
  EXPECT_EQ(factor({13, 256, 3, 1, 1}, 2), "1.742");
  EXPECT_EQ(factor({13, 256, 3, 1, 1}, 8), "1.000");
  EXPECT_EQ(factor({112, 3, 3, 1, 1}, 2), "1.747");
  EXPECT_EQ(factor({112, 3, 3, 1, 1}, 8), "1.000");
  EXPECT_EQ(factor({112, 3, 7, 2, 3}, 2), "6.623");
  EXPECT_EQ(factor({112, 3, 7, 2, 3}, 8), "1.000");
}

/// ResNet-18's twenty convolutions together.
TEST(Window, HasThePublishedFactorOfANet) {
  std::vector<Convolution> all{{224, 3, 7, 2, 3}};
  for (int k = 0; k < 4; ++k)
    all.push_back({56, 64, 3, 1, 1});
  for (const auto& [size, channels] : {std::pair{56, 64}, std::pair{28, 128}, std::pair{14, 256}}) {
    all.push_back({size, channels, 3, 2, 1});
    all.push_back({size, channels, 1, 2, 0});
    for (int k = 0; k < 3; ++k)
      all.push_back({size / 2, channels * 2, 3, 1, 1});
  }
  ASSERT_EQ(all.size(), 20U);
  double loads = 0, padding = 0, elements = 0;
  for (const Convolution& c : all) {
    const Loads each = loads_of(window_of(c));
    loads += each.loads;
    padding += each.padding;
    elements += static_cast<double>(c.channels * c.size * c.size);
  }
  EXPECT_EQ(three(loads / elements), "6.452");
  EXPECT_EQ(three((loads + padding) / elements), "6.730");
}

Convolution random_convolution(std::mt19937& random) {
  Convolution c;
  c.kernel = 1 + static_cast<int64_t>(random() % 5);
  c.dilation = 1 + static_cast<int64_t>(random() % 3);
  c.stride = 1 + static_cast<int64_t>(random() % 4);
  c.padding = static_cast<int64_t>(random() % 4);
  c.channels = 1 + static_cast<int64_t>(random() % 4);
  c.size = c.dilation * (c.kernel - 1) + 1 + static_cast<int64_t>(random() % 12);
  return c;
}

/// An iteration is among those that load its element, and all of those do.
TEST(Window, InverseHoldsForRandomConvolutions) {
  std::mt19937 random(17);
  int64_t loads = 0;
  for (int round = 0; round < 100'000; ++round) {
    const Window window = window_of(random_convolution(random));
    std::vector<int64_t> at;
    for (const WindowIterator& each : window.iterators)
      at.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(each.extent)));
    const auto element = element_at(window, at);
    if (!element)
      continue;
    ++loads;
    const auto all = iterations_of(window, *element);
    ASSERT_NE(std::find(all.begin(), all.end(), at), all.end());
    for (const auto& other : all)
      ASSERT_EQ(element_at(window, other), element);
  }
  EXPECT_GT(loads, 60'000);
}

/// Counted one by one; the inverses of all elements are the workspace.
TEST(Window, CountsAreThoseOfEnumeration) {
  std::mt19937 random(18);
  for (int round = 0; round < 200; ++round) {
    Convolution c = random_convolution(random);
    const Window window = window_of(c);
    std::map<std::vector<int64_t>, double> times;
    double padding = 0;
    for (int64_t y = 0; y < c.out(); ++y)
      for (int64_t x = 0; x < c.out(); ++x)
        for (int64_t ch = 0; ch < c.channels; ++ch)
          for (int64_t r = 0; r < c.kernel; ++r)
            for (int64_t s = 0; s < c.kernel; ++s) {
              const auto element = element_at(window, {y, x, ch, r, s});
              element ? times[*element] += 1 : padding += 1;
            }
    const Loads loads = loads_of(window);
    double sum = 0;
    for (const auto& [element, count] : times) {
      sum += count;
      ASSERT_EQ(static_cast<double>(iterations_of(window, element).size()), count);
    }
    ASSERT_EQ(loads.loads, sum);
    ASSERT_EQ(loads.elements, static_cast<double>(times.size()));
    ASSERT_EQ(loads.padding, padding);
    // A piece of one entry is an element.
    const Loads single = *piece_loads_of(window, 1);
    ASSERT_EQ(single.loads, loads.loads);
    ASSERT_EQ(single.elements, loads.elements);
  }
}

TEST(Duplicates, AreFoundInAProgram) {
  const auto program = program::parse(make_source(
      "test.kw",
      "param C\ninput X: f32[C, 9, 30], W: f32[4, C, 3, 3]\noutput Y: f32[4, 4, 14]\n"
      "for k in range(4):\n    for y in range(4):\n        for x in range(14):\n"
      "            Y[k, y, x] = 0\n            for c in range(C):\n"
      "                for r in range(3):\n                    for s in range(3):\n"
      "                        Y[k, y, x] += X[c, 2*y + r, 29 - 2*x - s] * W[k, c, r, s]\n"));
  ASSERT_TRUE(program) << render(program.error());
  const std::vector<int64_t> sizes{5};
  const auto found = duplicates(*program, sizes);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].tensor, "X");
  EXPECT_EQ(found[0].loads.loads, 5 * 4 * 3 * 14 * 3);
  EXPECT_EQ(found[0].loads.elements, 5 * 9 * 29);
  EXPECT_EQ(found[0].loads.padding, 0);
  EXPECT_TRUE(found[0].window.iterators[0].is_of_result);
  EXPECT_FALSE(found[0].window.iterators[2].is_of_result);
}

TEST(Duplicates, AreNoneInAProductOfMatrices) {
  const auto program = program::parse(make_source(
      "test.kw", "input A: f32[4, 8], B: f32[8, 4]\ninout C: f32[4, 4]\nfor i in range(4):\n"
                 "    for j in range(4):\n        for k in range(8):\n"
                 "            C[i, j] += A[i, k] * B[k, j]\n"));
  EXPECT_TRUE(duplicates(*program, {}).empty());
}

} // namespace
} // namespace kawara::estimate
