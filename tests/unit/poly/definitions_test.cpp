#include "poly/isl/context.h"
#include "poly/syntactic/domain_facts.h"

#include <gtest/gtest.h>

namespace kawara::poly {
namespace {

/// "b = i // 32; x = h": the iterators that have definitions, with letters for their numbers.
std::string defined(const char* set) {
  const ContextPtr context = make_context();
  const std::vector<scalar::Expr> all = DomainFacts(isl::set(context->get(), set)).definitions();
  scalar::Names names;
  for (size_t k = 0; k < all.size(); ++k)
    names.iters.push_back(std::string(1, static_cast<char>('a' + k)));
  std::string text;
  for (size_t k = 0; k < all.size(); ++k)
    if (all[k])
      text +=
          (text.empty() ? "" : "; ") + names.iters[k] + " = " + scalar::to_string(all[k], names);
  return text;
}

TEST(Definitions, AreBlocksOfAnotherIterator) {
  EXPECT_EQ(defined("{ S[a, b] : 0 <= b <= 511 and 32a <= b <= 32a + 31 }"), "a = b // 32");
  EXPECT_EQ(defined("{ S[a, b] : 0 <= b <= 511 and 32a - 5 <= b <= 32a + 26 }"),
            "a = (b + 5) // 32");
  EXPECT_EQ(defined("[N] -> { S[a, b] : 0 <= b < N and 8a <= b <= 8a + 7 }"), "a = b // 8");
}

TEST(Definitions, AreOtherIteratorsAndConstants) {
  EXPECT_EQ(defined("{ S[a, b, c] : c = a and 0 <= a < 4 and 0 <= b < 4 }"), "c = a");
  EXPECT_EQ(defined("{ S[a, b] : b = a + 2 and 0 <= a < 4 }"), "b = a + 2");
  EXPECT_EQ(defined("{ S[a, b] : b = 7 and 0 <= a < 4 }"), "b = 7");
}

TEST(Definitions, AreMadeOfWhatHasNone) {
  EXPECT_EQ(defined("{ S[a, b, c] : 0 <= c <= 511 and 8b <= c <= 8b + 7 and 4a <= b <= 4a + 3 }"),
            "a = c // 32; b = c // 8");
}

TEST(Definitions, AreMissingWhereValuesAreLeft) {
  EXPECT_EQ(defined("{ S[a, b] : 0 <= b <= 511 and 32a <= b <= 32a + 32 }"), "") << "two blocks";
  EXPECT_EQ(defined("{ S[a, b] : 0 <= b <= 511 and 32a <= b }"), "");
  EXPECT_EQ(defined("{ S[a, b] : 0 <= a < 4 and a = 2b }"), "");
  EXPECT_EQ(defined("{ S[a, b] : 0 <= b < 8 and (a = b or a = b + 1) }"), "");
}

using Ends = std::pair<int64_t, int64_t>;

std::optional<Ends> range_of(const char* set, unsigned position) {
  const ContextPtr context = make_context();
  return DomainFacts(isl::set(context->get(), set)).free_range(position);
}

TEST(DomainFacts, IsSharedByCopiesUntilTheDomainChanges) {
  const ContextPtr context = make_context();
  ScopStatement statement;
  statement.domain = isl::set(context->get(), "{ S[i] : 0 <= i < 9 }");
  EXPECT_EQ(domain_facts_of(statement)->free_range(0), Ends(0, 8));
  ScopStatement copy = statement;
  EXPECT_EQ(domain_facts_of(copy), domain_facts_of(statement));
  copy.domain = copy.domain.subtract(copy.domain.lexmin());
  EXPECT_EQ(domain_facts_of(copy)->free_range(0), Ends(1, 8));
  EXPECT_EQ(domain_facts_of(statement)->free_range(0), Ends(0, 8));
}

/// What could not be read is not kept as though it were all there is.
TEST(DomainFacts, IsNotKeptWhereItsQuotaRanOut) {
  const ContextPtr context = make_context();
  const isl::set domain(context->get(),
                        "{ S[b, i] : 0 <= i < 64 and 32b <= i <= 32b + 31 and 0 <= b <= 1 }");
  bool has_run_out = false;
  for (unsigned long quota = 1; quota <= 60; ++quota) {
    ScopStatement statement;
    statement.domain = domain;
    const auto ask = [&] { (void)domain_facts_of(statement)->free_range(1); };
    has_run_out = !within_quota(*context, quota, ask) || has_run_out;
    EXPECT_EQ(domain_facts_of(statement)->constraints()->size(), 6U) << quota;
    EXPECT_TRUE(domain_facts_of(statement)->definitions()[0]) << quota;
    EXPECT_EQ(domain_facts_of(statement)->free_range(1), Ends(0, 63)) << quota;
  }
  EXPECT_TRUE(has_run_out);
}

TEST(DomainFacts, HasCornersThatAreIterations) {
  using Point = std::vector<int64_t>;
  const ContextPtr context = make_context();
  const auto corner = [&](const char* set, const std::vector<bool>& is_last) {
    return DomainFacts(isl::set(context->get(), set)).corner(is_last);
  };
  EXPECT_EQ(corner("{ S[i, j] : 1 <= i < 9 and 0 <= j < 4 }", {false, true}), Point({1, 3}));
  EXPECT_EQ(corner("{ S[b, i] : 0 <= i < 64 and 32b <= i <= 32b + 31 }", {false, true}),
            Point({1, 63}));
  EXPECT_EQ(corner("{ S[i, j] : 0 <= i < 9 and 0 <= j < 9 and i >= j }", {true, false}),
            Point({8, 0}));
  EXPECT_EQ(corner("{ S[i, j] : 0 <= i < 9 and 0 <= j < 9 and i >= j }", {false, true}),
            std::nullopt)
      << "not in the triangle";
  EXPECT_EQ(corner("[N] -> { S[i] : 0 <= i < 9 and i < N }", {false}), std::nullopt)
      << "not for every N";
  EXPECT_EQ(corner("{ S[i] : 0 <= i < 9 and i % 2 = 1 }", {false}), std::nullopt);
}

TEST(FreeRange, IsOfIteratorsThatDependOnNoOther) {
  EXPECT_EQ(range_of("{ S[i, j] : 0 <= i < 9 and 2 <= j <= 5 }", 0), Ends(0, 8));
  EXPECT_EQ(range_of("{ S[i, j] : 0 <= i < 9 and 2 <= j <= 5 }", 1), Ends(2, 5));
  EXPECT_EQ(range_of("{ S[i, j] : i = 3 and 0 <= j < 4 }", 0), Ends(3, 3));
  EXPECT_EQ(range_of("{ S[i, j, k] : 0 <= i < 9 and 0 <= j <= k and k < 4 }", 0), Ends(0, 8));
  EXPECT_EQ(range_of("[N] -> { S[i, j] : 0 <= i < 9 and 0 <= j < N }", 0), Ends(0, 8));
}

TEST(FreeRange, IsMissingWhereSomethingElseDecides) {
  EXPECT_EQ(range_of("{ S[i, j] : 0 <= i <= j and j < 4 }", 0), std::nullopt);
  EXPECT_EQ(range_of("[N] -> { S[i] : 0 <= i < N }", 0), std::nullopt);
  EXPECT_EQ(range_of("{ S[i] : 0 <= i }", 0), std::nullopt);
  EXPECT_EQ(range_of("{ S[i] : 0 <= i < 9 and i mod 2 = 0 }", 0), std::nullopt);
  EXPECT_EQ(range_of("{ S[i] : 0 <= i < 4 or 8 <= i < 10 }", 0), std::nullopt);
  EXPECT_EQ(range_of("{ S[i, j, k] : 0 <= i < 4 and 2j = 2k + 1 and 0 <= j < 3 }", 0),
            std::nullopt);
}

TEST(FreeRange, IsOfIteratorsThatDefineOthers) {
  const char* blocks = "{ S[a, b, c] : 0 <= b <= 63 and 32a <= b <= 32a + 31 and 0 <= c < 4 }";
  EXPECT_EQ(range_of(blocks, 1), Ends(0, 63));
  EXPECT_EQ(range_of(blocks, 2), Ends(0, 3));
  EXPECT_EQ(range_of(blocks, 0), std::nullopt);
  EXPECT_EQ(range_of("{ S[a, b] : 0 <= b <= 63 and 32a <= b <= 32a + 31 and a <= 0 }", 1),
            std::nullopt)
      << "not every value is left";
  EXPECT_EQ(range_of("{ S[a, b, c] : 0 <= b <= 63 and 32a <= b <= 32a + 31 and 0 <= c <= a }", 1),
            std::nullopt)
      << "another one depends on it";
}

TEST(IteratorGroup, HasAllValuesOfWhatDependsOnOneAnother) {
  const ContextPtr context = make_context();
  const isl::set domain(
      context->get(),
      "{ S[a, b, c] : 0 <= a <= 1 and 0 <= b <= 4 and 2a <= b <= 2a + 2 and 0 <= c < 9 }");
  const auto iterator_group = iterator_group_of(domain, 1, 100);
  ASSERT_TRUE(iterator_group);
  EXPECT_EQ(iterator_group->has, (std::vector<bool>{true, true, false}));
  EXPECT_EQ(iterator_group->points,
            (std::vector<std::vector<int64_t>>{
                {0, 0, 0}, {0, 1, 0}, {0, 2, 0}, {1, 2, 0}, {1, 3, 0}, {1, 4, 0}}));
  EXPECT_FALSE(iterator_group_of(domain, 1, 9)) << "ten are tried";
  const isl::set open(context->get(), "[N] -> { S[a, b] : 0 <= a < N and 0 <= b < 4 }");
  EXPECT_FALSE(iterator_group_of(open, 0, 100));
  EXPECT_TRUE(iterator_group_of(open, 1, 100));
}

TEST(DifferSomewhere, IsSeenAtTheEnds) {
  const ContextPtr context = make_context();
  const isl::set domain(context->get(), "{ S[a, b] : 0 <= a < 9 and 0 <= b < 9 }");
  const scalar::Expr a = scalar::iter(0), b = scalar::iter(1);
  EXPECT_TRUE(differ_somewhere(a, b, domain));
  EXPECT_FALSE(differ_somewhere(a, a, domain));
  const isl::set same(context->get(), "{ S[a, b] : 0 <= a < 9 and a <= b <= a }");
  EXPECT_FALSE(differ_somewhere(a, b, same));
}

} // namespace
} // namespace kawara::poly
