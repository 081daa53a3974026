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

TEST(PlainConstraints, AreTheNumbersOfOnePiece) {
  const ContextPtr context = make_context();
  const auto list = [&](const char* set) {
    return plain_constraints(isl::set(context->get(), set));
  };
  EXPECT_EQ(list("{ S[i] : 0 <= i < 4 or 8 <= i < 10 }"), std::nullopt);
  const auto all = list("[N] -> { S[i, j] : 3j = i + 1 and i >= 2 and j < N }");
  ASSERT_TRUE(all);
  size_t equalities = 0, with_more = 0;
  for (const PlainConstraint& constraint : *all) {
    equalities += constraint.is_equality ? 1 : 0;
    with_more += constraint.has_more ? 1 : 0;
    if (constraint.is_equality) {
      EXPECT_EQ(constraint.factors[1], -3 * constraint.factors[0]);
    }
  }
  EXPECT_EQ(equalities, 1U);
  EXPECT_EQ(with_more, 1U);
}

} // namespace
} // namespace kawara::poly
