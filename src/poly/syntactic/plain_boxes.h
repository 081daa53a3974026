#pragma once

#include "poly/syntactic/domain_facts.h"
#include "scalar/expr.h"

#include <optional>
#include <vector>

namespace kawara::poly {

/// Where boxes of elements begin, one for each iteration o of the loops around, and how large they
/// all are.
struct Boxes {
  std::vector<scalar::Expr>
      first; ///< by dimension: the smallest c, in o (Iter d) and the parameters
  std::vector<scalar::Expr> extent; ///< by dimension: how many, in the parameters
};

/// The boxes of the values of `inner` rows in each iteration of `outer` rows, where text shows
/// them: every inner row is about one iterator that has the same values whatever the others are,
/// and the outer rows count whole blocks of it. Nothing: sets have to be asked.
///
///   outer i // 64; inner i % 64 // 8, i % 8; i from 0 to 511:  first 0, 0; extent 8, 8
std::optional<Boxes> plain_boxes(const std::vector<scalar::Expr>& outer,
                                 const std::vector<scalar::Expr>& inner, const DomainFacts& domain);

} // namespace kawara::poly
