#include "poly/syntactic/given_values.h"

#include "poly/isl/context.h"
#include "scalar/eval.h"

#include <gtest/gtest.h>
#include <random>

namespace kawara::poly {
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
  const ContextPtr context = make_context();
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

/// Both iterators as functions of rows r0, r1, ...; "" where text does not show them.
std::string solved(const std::vector<Expr>& rows, const char* domain) {
  const ContextPtr context = make_context();
  const auto all = iterators_from_rows(rows, {iter(0), iter(1)}, isl::set(context->get(), domain));
  if (!all)
    return "";
  scalar::Names names;
  for (size_t k = 0; k < rows.size(); ++k)
    names.iters.push_back("r" + std::to_string(k));
  return scalar::to_string(all->at(0), names) + ", " + scalar::to_string(all->at(1), names);
}

TEST(SolvedIterators, ArePutTogetherFromTiles) {
  const Expr i = iter(0), j = iter(1);
  EXPECT_EQ(solved({j, i}, kBox), "r1, r0");
  EXPECT_EQ(solved({tile(i, 8), j, place(i, 8)}, kBox), "r0 * 8 + r2, r1");
  EXPECT_EQ(solved({tile(i, 64), j, tile(place(i, 64), 8), place(i, 8)}, kBox),
            "r0 * 64 + r2 * 8 + r3, r1");
  EXPECT_EQ(solved({tile(i, 128), place(i, 128), j}, kBox), "r1, r2") << "there is one block";
  EXPECT_EQ(solved({tile(i, 64), j, place(i, 8)}, kBox), "");
  EXPECT_EQ(solved({i + j, j}, kBox), "") << "sets have to be asked";
  // An iterator that counts blocks of another follows from that one.
  constexpr const char* kBlocks = "{ S[b, i] : 0 <= i < 64 and 32b <= i <= 32b + 31 }";
  EXPECT_EQ(solved({iter(0), tile(place(iter(1), 32), 16), place(iter(1), 16)}, kBlocks),
            "r0, r0 * 32 + r1 * 16 + r2");
}

TEST(SolvedIterators, HaveTheValuesThatRowsCameFrom) {
  std::mt19937 random(7);
  const ContextPtr context = make_context();
  const isl::set box(context->get(), kBox);
  size_t seen = 0;
  for (int turn = 0; turn < 200; ++turn) {
    // Pieces of i, cut again and again; some are lost.
    std::vector<Expr> rows{iter(0)};
    for (size_t cuts = random() % 4; cuts > 0; --cuts) {
      const size_t at = random() % rows.size();
      const auto size = static_cast<int64_t>(1 + random() % 12);
      rows.push_back(place(rows[at], size));
      rows[at] = tile(rows[at], size);
    }
    if (random() % 4 == 0)
      rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(random() % rows.size()));
    const auto all = iterators_from_rows(rows, {iter(0)}, box);
    seen += all ? 1 : 0;
    for (int64_t i = 0; all && i < 100; ++i) {
      std::vector<int64_t> values;
      for (const Expr& row : rows)
        values.push_back(*scalar::evaluate_index(row, {i, 0}, {}));
      ASSERT_EQ(scalar::evaluate_index(all->front(), values, {}), i);
    }
  }
  EXPECT_GT(seen, 80U);
}

TEST(GivenValues, FollowFromBlocks) {
  const ContextPtr context = make_context();
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
} // namespace kawara::poly
