#include "kernel/vector/vectorize.h"

#include "unit/kernel/line.h"

namespace kawara {
namespace {

std::string row(const std::string& value, const std::string& sum) {
  return "param N\ninput X: f32[N]\noutput e: f32[N], s: f32[1]\ns[0] = 0\n"
         "for j in range(N):\n    e[j] = " +
         value + "\n    s[0] += " + sum + "\n";
}

std::string vectors_of(const std::string& text, const std::string& directives) {
  std::string listing;
  kernel::optimise(line::compile(text, directives).kernel, line::test_cpu(),
                   [&](std::string_view pass, const kernel::Kernel& k) {
                     if (pass == "vectorize")
                       listing = kernel::print(k);
                   });
  return listing;
}

size_t accumulators_in(const std::string& listing) {
  size_t count = 0;
  for (size_t at = 0; (at = listing.find("let s_lanes", at)) != std::string::npos; ++at)
    ++count;
  return count;
}

TEST(FoldedSums, NeedTwoRegistersBesideWhatIsAddedUp) {
  const std::string text = row("exp(X[j])", "e[j]");
  const std::string listing = vectors_of(text, "vectorize(j, 32)");
  EXPECT_EQ(accumulators_in(listing), 1U) << listing;
  EXPECT_TRUE(line::has(listing, "s_lanes: f32x8")) << listing;
  EXPECT_TRUE(line::has(listing, "s_lanes + reduce_sum(e[ramp(j, 1, 32)], 8)")) << listing;
  line::expect_same(text, "vectorize(j, 32)", {{1}, {31}, {32}, {100}});
}

TEST(FoldedSums, NotOfProductsNorOfFewLanes) {
  const std::string products = vectors_of(row("exp(X[j])", "e[j] * e[j]"), "vectorize(j, 32)");
  EXPECT_EQ(accumulators_in(products), 4U) << "they are multiplied and added at once\n" << products;
  const std::string few = vectors_of(row("exp(X[j])", "e[j]"), "vectorize(j, 8)");
  EXPECT_EQ(accumulators_in(few), 4U) << few;
  const std::string alone = vectors_of("param N\ninput X: f32[N]\noutput s: f32[1]\ns[0] = 0\n"
                                       "for j in range(N):\n    s[0] += X[j]\n",
                                       "vectorize(j, 32)");
  EXPECT_EQ(accumulators_in(alone), 4U) << "nothing else needs registers\n" << alone;
}

/// 29 terms with 16 lanes: 16, 8, 4 and 1.
TEST(LastTerms, JoinTheHalvesOfAccumulators) {
  const std::string text = "input X: f32[29], Y: f32[29]\noutput s: f32[1]\ns[0] = 0\n"
                           "for j in range(29):\n    s[0] += X[j] * Y[j]\n";
  const std::string listing = vectors_of(text, "vectorize(j, 16)");
  EXPECT_TRUE(line::has(listing, "s_lanes_1: f32x8 = reduce_sum(s_lanes, 8)")) << listing;
  EXPECT_TRUE(line::has(listing, "X[ramp(16, 1, 8)] * Y[ramp(16, 1, 8)]")) << listing;
  EXPECT_TRUE(line::has(listing, "s_lanes_2: f32x4 = reduce_sum(s_lanes_1, 4)")) << listing;
  EXPECT_TRUE(line::has(listing, "X[ramp(24, 1, 4)] * Y[ramp(24, 1, 4)]")) << listing;
  EXPECT_TRUE(line::has(listing, "X[28] * Y[28]")) << "one is left\n" << listing;
  EXPECT_FALSE(line::has(listing, "X[27] * Y[27]")) << listing;
}

TEST(LastTerms, OfAnyNumberChangeNoResult) {
  for (const char* op : {"+=", "max="})
    for (const int64_t terms : {2, 7, 15, 18, 29}) {
      const std::string size = std::to_string(terms);
      const std::string text = "input X: f32[" + size + "], Y: f32[" + size +
                               "]\noutput s: f32[2], t: f32[1]\ns[0] = 0\nt[0] = 0\n"
                               "for j in range(" +
                               size + "):\n    s[0] " + op + " X[j] * Y[j]\n    t[0] " + op +
                               " X[j]\ns[1] = 0\n";
      line::expect_same(text, "vectorize(S2.j, 16)", {{}});
    }
}

TEST(FoldedSums, HaveLastLanesAtOnce) {
  std::string text = row("exp(X[j])", "e[j]");
  text.replace(0, 7, "");
  for (size_t at = 0; (at = text.find('N', at)) != std::string::npos;)
    text.replace(at, 1, "300");
  const std::string listing = vectors_of(text, "vectorize(j, 32)");
  for (const char* lanes : {"e[ramp(288, 1, 8)] = ", "e[ramp(296, 1, 4)] = "})
    EXPECT_TRUE(line::has(listing, lanes)) << "not one by one\n" << listing;
  line::expect_same(text, "vectorize(j, 32)", {{}});
}

} // namespace
} // namespace kawara
