#include "schedule/solve_iterators.h"

#include "poly/isl/context.h"

#include <gtest/gtest.h>

namespace kawara::schedule {
namespace {

using scalar::Expr;
using scalar::iter;

Expr tile(const Expr& e, int64_t size) {
  return scalar::simplify(scalar::binary(scalar::BinaryOp::FloorDiv, e, scalar::int_lit(size)));
}
Expr place(const Expr& e, int64_t size) {
  return scalar::simplify(scalar::binary(scalar::BinaryOp::Mod, e, scalar::int_lit(size)));
}

/// Whether rows give both iterators of a domain.
std::optional<bool> gives(const std::vector<Expr>& rows, const char* domain) {
  const poly::ContextPtr context = poly::make_context();
  return gives_iterators(rows, {iter(0), iter(1)}, isl::set(context->get(), domain));
}

constexpr const char* kBox = "{ S[i, j] : 0 <= i < 100 and 0 <= j < 30 }";

TEST(GivenIterators, AreSeenFromTiles) {
  const Expr i = iter(0), j = iter(1);
  EXPECT_EQ(gives({i, j}, kBox), true);
  EXPECT_EQ(gives({tile(i, 8), j, place(i, 8)}, kBox), true);
  EXPECT_EQ(gives({tile(i, 64), j, tile(place(i, 64), 8), place(place(i, 64), 8)}, kBox), true);
  // Tiles that others do not divide.
  EXPECT_EQ(gives({tile(i, 21), tile(place(i, 21), 6), place(place(i, 21), 6), j}, kBox), true);
  EXPECT_EQ(gives({tile(tile(i, 6), 5), place(tile(i, 6), 5), place(i, 6), j}, kBox), true);
  // Also where the domain is no box: a function is one on every part.
  EXPECT_EQ(gives({tile(i, 8), place(i, 8), j}, "{ S[i, j] : 0 <= i < 100 and 0 <= j <= i }"),
            true);
}

TEST(GivenIterators, AreMissedByTooFewRows) {
  const Expr i = iter(0), j = iter(1);
  EXPECT_EQ(gives({i}, kBox), false);
  EXPECT_EQ(gives({tile(i, 8), j}, kBox), false);
  EXPECT_EQ(gives({place(i, 8), j}, kBox), false);
  EXPECT_EQ(gives({tile(i, 64), place(i, 8), j}, kBox), false);
  // One tile holds all, or one place.
  EXPECT_EQ(gives({place(i, 128), j}, kBox), true);
  EXPECT_EQ(gives({i}, "{ S[i, j] : 0 <= i < 100 and j = 4 }"), true);
}

TEST(GivenIterators, AreAskedOfSetsOtherwise) {
  const Expr i = iter(0), j = iter(1);
  EXPECT_EQ(gives({i + j, j}, kBox), std::nullopt);
  EXPECT_EQ(gives({tile(i, 8), j}, "{ S[i, j] : 0 <= i < 100 and 0 <= j <= i }"), std::nullopt);
  EXPECT_EQ(gives({place(i, 8192), j}, "{ S[i, j] : 0 <= i < 8000 and 0 <= j < 3 }"), std::nullopt);
}

TEST(GivenIterators, AreSeenThroughBlocksWithNamesOfTheirOwn) {
  // The first iterator counts blocks of the second.
  constexpr const char* kBlocks = "{ S[b, i] : 0 <= i < 64 and 32b <= i <= 32b + 31 }";
  const Expr b = iter(0), i = iter(1);
  EXPECT_EQ(gives({b, tile(place(i, 32), 16), place(i, 16)}, kBlocks), true);
  EXPECT_EQ(gives({tile(place(i, 32), 16), place(i, 16)}, kBlocks), false);
  EXPECT_EQ(gives({b, place(i, 16)}, kBlocks), false);
}

TEST(GivenValues, FollowFromBlocks) {
  const poly::ContextPtr context = poly::make_context();
  const isl::set box(context->get(), kBox);
  const Expr i = iter(0), j = iter(1);
  const std::vector<Expr> keys{tile(i, 32), tile(place(i, 32), 8), j};
  EXPECT_TRUE(gives_value(i - place(i, 8), keys, box));
  EXPECT_TRUE(gives_value(i - place(i, 8) + j, keys, box));
  EXPECT_FALSE(gives_value(i, keys, box));
  EXPECT_FALSE(gives_value(i - place(i, 4), keys, box));
  EXPECT_FALSE(gives_value(tile(i + j, 8), keys, box)) << "sets have to be asked";
}

} // namespace
} // namespace kawara::schedule
