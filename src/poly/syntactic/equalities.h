#pragma once

#include "poly/order.h"
#include "poly/scop.h"

#include <optional>
#include <utility>
#include <vector>

namespace kawara::poly {

/// What both sides of every pair of iterations of two statements have in common, as text.
struct Equalities {
  StmtId from{}, to{};
  std::vector<Expr> source, sink; ///< definitions of their iterators (domain_facts.h)
  /// By iterator of the source: the iterator of the sink that has in every pair the same value.
  /// Without expression: none.
  std::vector<Expr> counterparts;
  /// Functions, in canonical form, that have one value on both sides.
  std::vector<std::pair<Expr, Expr>> equal;
  /// The pairs themselves, where answers about them are compared with sets (comparison.h).
  std::optional<isl::map> pairs = std::nullopt;
};

/// Of pairs that are in the two domains, as the equalities of the relation show it, or questions
/// for iterators of one name.
Equalities equalities_of_pairs(const Scop&, const isl::map& pairs, StmtId source, StmtId sink);
/// Of pairs that have nothing in common.
Equalities no_equalities_of(const Scop&, StmtId source, StmtId sink);
/// Of pairs that touch the same element through these accesses, as their indices show it.
Equalities equalities_of_elements(const Scop&, const Access& source, const Access& sink);
/// The same of indices in iterators with these definitions.
Equalities equalities_of_elements(const std::vector<Expr>& source_index,
                                  const std::vector<Expr>& sink_index,
                                  std::vector<Expr> source_definitions,
                                  std::vector<Expr> sink_definitions);

/// Whether the two functions have one value in every pair; false where text does not show it.
bool is_tied(const Equalities&, const Expr& of_source, const Expr& of_sink);

/// A loop that two statements share and that may tell the iterations of a pair apart, or several
/// that do so as one: iterations in blocks come in the order of what is in the blocks.
///
///   k // 128 outside of k % 128: the same order as k
struct Step {
  Expr source, sink;          ///< rows
  size_t first = 0, last = 0; ///< depths of the loops
};

/// The first `loops` loops that two statements share without those whose rows are tied: nothing is
/// decided there, and left out of the sets such loops (tiles, mostly) cost nothing. `is_apart`: by
/// depth, loops that have to be steps by themselves; empty: none.
std::vector<Step> steps_of(const Order&, const Equalities&, StmtId source, StmtId sink,
                           size_t loops, const std::vector<bool>& is_apart = {});

} // namespace kawara::poly
