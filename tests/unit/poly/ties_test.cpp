#include "poly/syntactic/equalities.h"

#include "unit/poly/scops.h"

// Loops in which both sides of a pair are in the same iteration, and loops that are one step
// together.

namespace kawara::poly {
namespace {

using scalar::int_lit;
using scalar::iter;

Expr blocks(const Expr& e, int64_t size) {
  return scalar::binary(scalar::BinaryOp::FloorDiv, e, int_lit(size));
}
Expr places(const Expr& e, int64_t size) {
  return scalar::binary(scalar::BinaryOp::Mod, e, int_lit(size));
}

const Dependence& reduction_of(const Scop& scop) {
  for (const Dependence& d : scop.dependences)
    if (d.is_reduction)
      return d;
  throw std::runtime_error("no reduction");
}

/// "k", "k // 4; k % 4": the steps of the product's sum when its rows are these.
std::string steps(const std::vector<Expr>& rows, const std::vector<bool>& is_apart = {}) {
  const Scop scop = scop_of(kGemm);
  const Dependence& d = reduction_of(scop);
  Order order = scop.source_order;
  order.rows[d.source.value] = rows;
  std::string text;
  for (const Step& step : steps_of(order, equalities_of_pairs(scop, d.relation, d.source, d.sink),
                                   d.source, d.sink, rows.size(), is_apart))
    text += (text.empty() ? "" : "; ") + scalar::to_string(step.source, names_of(scop, d.source));
  return text;
}

TEST(Steps, LeaveOutWhatPairsHaveInCommon) {
  EXPECT_EQ(steps({iter(0), iter(1), iter(2)}), "k");
  EXPECT_EQ(steps({blocks(iter(0), 8), iter(1), places(iter(0), 8)}), "");
}

TEST(Steps, CountBlocksAndPlacesAsOne) {
  const Expr k = iter(2);
  EXPECT_EQ(steps({blocks(k, 4), iter(0), iter(1), places(k, 4)}), "k");
  EXPECT_EQ(steps({blocks(k, 32), blocks(places(k, 32), 8), iter(0), places(k, 8)}), "k");
  EXPECT_EQ(steps({places(k, 4), blocks(k, 4)}), "k % 4; k // 4") << "not in the order of k";
  EXPECT_EQ(steps({blocks(k, 4), places(k, 8)}), "k // 4; k % 8");
}

TEST(Steps, StayApartWhereAsked) {
  const Expr k = iter(2);
  EXPECT_EQ(steps({blocks(k, 4), places(k, 4)}, {true, false}), "k // 4; k % 4");
  EXPECT_EQ(steps({blocks(k, 4), places(k, 4)}, {false, true}), "k // 4; k % 4");
}

TEST(Equalities, OfElementsAreSeenFromTheirIndices) {
  // S[b, i], b = i // 8, writes T[b, i]; R[j] reads T[j // 8, j].
  const Equalities equalities = equalities_of_elements(
      {iter(0), iter(1)}, {blocks(iter(0), 8), iter(0)}, {blocks(iter(1), 8), Expr()}, {Expr()});
  EXPECT_TRUE(is_tied(equalities, iter(0), blocks(iter(0), 8)));
  EXPECT_TRUE(is_tied(equalities, iter(1), iter(0)));
  EXPECT_TRUE(is_tied(equalities, places(iter(1), 4), places(iter(0), 4)));
  EXPECT_FALSE(is_tied(equalities, iter(0), iter(0)));
  EXPECT_FALSE(is_tied(equalities, iter(1), iter(0) + int_lit(1)));
}

TEST(Equalities, OfShiftedElementsAreNoTwins) {
  const Equalities equalities =
      equalities_of_elements({iter(0)}, {iter(0) + int_lit(1)}, {Expr()}, {Expr()});
  EXPECT_FALSE(is_tied(equalities, iter(0), iter(0)));
  EXPECT_TRUE(is_tied(equalities, iter(0), iter(0) + int_lit(1)));
}

} // namespace
} // namespace kawara::poly
