#include "estimate/bounds/least_traffic.h"

#include "estimate/bounds/brascamp_lieb.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

namespace kawara::estimate {
namespace {

FractionMatrix matrix(const std::vector<std::vector<int64_t>>& rows) {
  FractionMatrix made;
  for (const auto& row : rows) {
    made.emplace_back();
    for (const int64_t x : row)
      made.back().emplace_back(x);
  }
  return made;
}

/// The smallest sum of exponents.
double least_sum(const std::vector<FractionMatrix>& maps, size_t n) {
  double least = 1e9;
  for (const Row& s : exponents(maps, n)) {
    double sum = 0;
    for (const Rational& each : s)
      sum += each.value();
    least = std::min(least, sum);
  }
  return least;
}

const std::vector<FractionMatrix> kProductMaps{
    matrix({{1, 0, 0}, {0, 0, 1}}), matrix({{0, 0, 1}, {0, 1, 0}}), matrix({{1, 0, 0}, {0, 1, 0}})};

TEST(BrascampLieb, HasOneHalfForEachOperandOfAProduct) {
  const std::vector<Row> corners = exponents(kProductMaps, 3);
  EXPECT_NE(std::find(corners.begin(), corners.end(),
                      Row{Rational(1, 2), Rational(1, 2), Rational(1, 2)}),
            corners.end());
  EXPECT_DOUBLE_EQ(least_sum(kProductMaps, 3), 1.5);
}

/// Examples of Christ et al. (2013), section 6: n bodies, and their "complicated code" of six loops
/// with sum 15/7.
TEST(BrascampLieb, HasPublishedExponents) {
  EXPECT_DOUBLE_EQ(least_sum({matrix({{1, 0}}), matrix({{0, 1}})}, 2), 2);
  const std::vector<FractionMatrix> complicated{
      matrix({{1, 0, 0, 0, 0, 0}, {0, 0, 1, 0, 0, 0}, {0, 0, 0, 0, 0, 1}}),
      matrix({{1, 0, 0, 0, 0, 0}, {0, 1, 0, 0, 0, 0}, {0, 0, 0, 1, 0, 0}}),
      matrix({{0, 1, 0, 0, 0, 0}, {0, 0, 1, 0, 0, 0}, {0, 0, 0, 0, 1, 0}}),
      matrix({{0, 0, 1, 0, 0, 0}, {0, 0, 0, 1, 0, 0}, {0, 0, 0, 0, 0, 1}}),
      matrix({{0, 1, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 1}}),
      matrix({{1, 0, 0, 0, 0, 0}, {0, 0, 0, 1, 0, 0}, {0, 0, 0, 0, 1, 0}})};
  EXPECT_NEAR(least_sum(complicated, 6), 15.0 / 7, 1e-12);
}

TEST(BrascampLieb, FindsNoneWhereReuseHasNoEnd) {
  // A loop that no access follows: any number of iterations on the same elements.
  EXPECT_TRUE(exponents({matrix({{1, 0}})}, 2).empty());
}

/// The inequality itself, on random sets.
TEST(BrascampLieb, HoldsForRandomSets) {
  std::mt19937 random(4);
  const std::vector<FractionMatrix> convolution{
      matrix({{1, 0, 0}, {0, 1, 1}}), matrix({{1, 0, 0}, {0, 0, 1}}), matrix({{0, 1, 0}})};
  int64_t compared = 0;
  for (const std::vector<FractionMatrix>& maps : {kProductMaps, convolution})
    for (const Row& s : exponents(maps, 3))
      for (int round = 0; round < 60; ++round) {
        std::set<std::vector<int64_t>> points;
        const auto side = static_cast<int64_t>(1 + random() % 5);
        for (uint64_t k = 0; k < 1 + random() % 80; ++k)
          points.insert({static_cast<int64_t>(random()) % side,
                         static_cast<int64_t>(random()) % side,
                         static_cast<int64_t>(random()) % side});
        double most = 1;
        for (size_t j = 0; j < maps.size(); ++j) {
          std::set<std::vector<int64_t>> images;
          for (const auto& point : points) {
            std::vector<int64_t> image;
            for (const Row& row : maps[j]) {
              int64_t sum = 0;
              for (size_t k = 0; k < 3; ++k)
                sum += row[k].above() * point[k];
              image.push_back(sum);
            }
            images.insert(image);
          }
          most *= std::pow(static_cast<double>(images.size()), s[j].value());
        }
        ASSERT_LE(static_cast<double>(points.size()), most * (1 + 1e-9));
        ++compared;
      }
  EXPECT_GT(compared, 300);
}

LeastTraffic least_of(const std::string& text, double fast_bytes, bool fetches = true) {
  const auto program = program::parse(make_source("test.kw", text));
  EXPECT_TRUE(program) << render(program.error());
  return least_traffic(*program, {}, *count(*program, {}),
                       {.bytes = fast_bytes, .fetches_for_stores = fetches});
}

std::string product_text(int64_t m, int64_t n, int64_t k) {
  return fmt::format(
      "input A: f32[{0}, {2}], B: f32[{2}, {1}]\ninout C: f32[{0}, {1}]\n"
      "for i in range({0}):\n    for j in range({1}):\n        for k in range({2}):\n"
      "            C[i, j] += A[i, k] * B[k, j]\n",
      m, n, k);
}

/// 2 M N K / sqrt(S) - 2 S words (Smith et al., 2017; Olivry et al., PLDI'20).
TEST(LeastTraffic, OfAProductIsThePublishedOne) {
  for (const double words : {256.0, 1024.0, 10000.0, 65536.0}) {
    const double m = 1024, n = 512, k = 768;
    const double published = 2 * m * n * k / std::sqrt(words) - 2 * words;
    const LeastTraffic least = least_of(product_text(1024, 512, 768), words * 4);
    EXPECT_EQ(least.decided_by, "S0");
    EXPECT_LE(least.bytes, 4 * 2 * m * n * k / std::sqrt(words));
    EXPECT_GE(least.bytes, 4 * published * 0.999) << words;
  }
}

/// Bytes per FLOP of f32 100^3 in a fast memory of 10,000 words: 4 / sqrt(S) = 0.04 for very large
/// products, which is what this bound comes to for large ones.
TEST(LeastTraffic, OfALargeProductIs4OverTheRootOfWords) {
  const LeastTraffic least = least_of(product_text(8000, 8000, 8000), 40000);
  EXPECT_NEAR(least.bytes / (2.0 * 8000 * 8000 * 8000), 0.04, 0.0001);
}

/// 2 |G| / sqrt(R S M) for windows R x S that are small: Demmel and Dinh (2018).
TEST(LeastTraffic, OfAConvolutionTakesSmallWindowsApart) {
  const std::string text =
      "input X: f32[64, 58, 58], W: f32[64, 64, 3, 3]\n"
      "inout Y: f32[64, 56, 56]\n"
      "for k in range(64):\n    for y in range(56):\n"
      "        for x in range(56):\n            for c in range(64):\n"
      "                for r in range(3):\n"
      "                    for s in range(3):\n"
      "                        Y[k, y, x] += X[c, y + r, x + s] * W[k, c, r, s]\n";
  const double words = 1024, iterations = 64.0 * 56 * 56 * 64 * 9;
  const double published = 2 * iterations / std::sqrt(9 * words) - 2 * words;
  const LeastTraffic least = least_of(text, words * 4);
  EXPECT_GE(least.bytes, 4 * published * 0.99);
  EXPECT_EQ(least.decided_by, "S0");
}

/// Of a stream each byte comes once, less what was there before; memory of any size changes little.
TEST(LeastTraffic, OfAStreamIsItsInputs) {
  const std::string text = "input A: f32[1000, 1000], B: f32[1000, 1000]\n"
                           "output C: f32[1000, 1000]\n"
                           "for i in range(1000):\n    for j in range(1000):\n"
                           "        C[i, j] = A[i, j] + B[i, j]\n";
  EXPECT_EQ(least_of(text, 4000).bytes, 8e6 - 4000);
  EXPECT_EQ(least_of(text, 1e7).bytes, 0);
}

/// Accumulators that begin in registers need not come: M N words less.
TEST(LeastTraffic, LeavesOutWhatBeginsInFastMemory) {
  std::string text = product_text(512, 512, 512);
  text.replace(text.find("inout"), 5, "output");
  text.insert(text.find("for i"), "for i in range(512):\n    for j in range(512):\n"
                                  "        C[i, j] = 0\n");
  const double fetched = least_of(text, 4096, true).bytes,
               begun = least_of(text, 4096, false).bytes;
  EXPECT_NEAR(fetched - begun, 4.0 * 512 * 512, 1);
}

TEST(LeastTraffic, IsNothingWhereAddressesDependOnData) {
  const LeastTraffic least = least_of("input I: i64[100]\ninput A: f32[100]\noutput B: f32[100]\n"
                                      "for i in range(100):\n    B[i] = A[I[i]]\n",
                                      16);
  EXPECT_EQ(least.decided_by, "");
}

} // namespace
} // namespace kawara::estimate
