#include "poly/isl/context.h"
#include "poly/isl/pieces.h"

#include <gtest/gtest.h>
#include <isl/set.h>

namespace kawara::poly {
namespace {

int divisions(const isl::set& set) {
  int count = 0;
  set.foreach_basic_set(
      [&](const isl::basic_set& piece) { count += isl_basic_set_dim(piece.get(), isl_dim_div); });
  return count;
}

TEST(WithDivisions, MeetAgainWithoutMore) {
  const ContextPtr context = make_context();
  // Where the interval holds an even number. Which one isl does not keep, so there is no division.
  const isl::set plain =
      isl::map(context->get(), "[N] -> { [i] -> [e] : N + i < 2e <= 2N + i }").domain();
  const isl::set some(context->get(), "[N] -> { [i] : i >= 5 }");
  EXPECT_EQ(divisions(plain.intersect(some).intersect(plain)), 2) << "what it is for";
  const isl::set made = with_divisions(plain);
  EXPECT_TRUE(made.is_equal(plain));
  EXPECT_EQ(divisions(made.intersect(some).intersect(made)), divisions(made));
}

/// As many dimensions as given, all even.
isl::set even_in(const Context& context, unsigned dimensions) {
  std::string point, conditions;
  for (unsigned d = 0; d < dimensions; ++d) {
    const std::string name = "i" + std::to_string(d);
    point += (d == 0 ? "" : ", ") + name;
    conditions += (d == 0 ? "" : " and ") + name + " mod 2 = 0";
  }
  return isl::set(context.get(), "{ [" + point + "] : " + conditions + " }");
}

TEST(WithDivisions, TooManyEndTheQuestion) {
  const ContextPtr context = make_context();
  const isl::set most = even_in(*context, kMostDivisions);
  const isl::set more = even_in(*context, kMostDivisions + 1);
  EXPECT_TRUE(within_quota(*context, kDefaultQuota, [&] { with_divisions(most); }));
  EXPECT_FALSE(within_quota(*context, kDefaultQuota, [&] { with_divisions(more); }));
  EXPECT_TRUE(with_divisions(more).is_equal(more)) << "without a question there is no limit";
}

using Ends = std::pair<int64_t, int64_t>;

std::optional<Ends> range_of(const char* set, unsigned position) {
  const ContextPtr context = make_context();
  return own_range(isl::set(context->get(), set), position);
}

TEST(OwnRange, IsOfDimensionsThatDependOnNoOther) {
  EXPECT_EQ(range_of("{ S[i, j] : 0 <= i < 9 and 2 <= j <= 5 }", 0), Ends(0, 8));
  EXPECT_EQ(range_of("{ S[i, j] : 0 <= i < 9 and 2 <= j <= 5 }", 1), Ends(2, 5));
  EXPECT_EQ(range_of("{ S[i, j] : i = 3 and 0 <= j < 4 }", 0), Ends(3, 3));
  EXPECT_EQ(range_of("{ S[i, j, k] : 0 <= i < 9 and 0 <= j <= k and k < 4 }", 0), Ends(0, 8));
  EXPECT_EQ(range_of("[N] -> { S[i, j] : 0 <= i < 9 and 0 <= j < N }", 0), Ends(0, 8));
}

TEST(OwnRange, IsMissingWhereSomethingElseDecides) {
  EXPECT_EQ(range_of("{ S[i, j] : 0 <= i <= j and j < 4 }", 0), std::nullopt);
  EXPECT_EQ(range_of("[N] -> { S[i] : 0 <= i < N }", 0), std::nullopt);
  EXPECT_EQ(range_of("{ S[i] : 0 <= i }", 0), std::nullopt);
  EXPECT_EQ(range_of("{ S[i] : 0 <= i < 9 and i mod 2 = 0 }", 0), std::nullopt);
  EXPECT_EQ(range_of("{ S[i] : 0 <= i < 4 or 8 <= i < 10 }", 0), std::nullopt);
  EXPECT_EQ(range_of("{ S[i, j, k] : 0 <= i < 4 and 2j = 2k + 1 and 0 <= j < 3 }", 0),
            std::nullopt);
}

} // namespace
} // namespace kawara::poly
