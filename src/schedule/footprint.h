#pragma once

#include "poly/definitions.h"
#include "poly/scop.h"
#include "scalar/expr.h"

#include <optional>
#include <vector>

namespace kawara::schedule {

/// Where boxes of cells begin, one for each iteration o of the loops around, and how large they all are.
struct Boxes {
  std::vector<scalar::Expr>
      first; ///< by dimension: the smallest c, in o (Iter d) and the parameters
  std::vector<scalar::Expr> extent; ///< by dimension: how many, in the parameters
};

/// The box of a tensor's cells that accesses touch in one iteration of the loops around.
struct Footprint : Boxes {
  isl::set cells;   ///< { [o, c] }: iteration o of the loops touches a box that holds c
  isl::set touched; ///< { [o, c] }: iteration o of the loops touches c itself
};

/// Of cell `index`, from the first one of the box that iteration `outer` has.
std::vector<scalar::Expr> positions_in(const Boxes&, const std::vector<scalar::Expr>& outer,
                                       const std::vector<scalar::Expr>& index);

/// { [o] -> [c] } as boxes: `depth` is the number of dimensions of o. Not empty. `known` is what holds of
/// the parameters; no extent is a number only for that. Extents may be larger than needed where the
/// exact ones have very many cases.
Footprint boxes_of(const isl::map& relation, size_t depth, size_t dims,
                   const std::vector<program::Param>&, const isl::set& known, const poly::Context&);

/// The boxes of the values of `inner` rows in each iteration of `outer` rows, where text shows them: every inner row is about one iterator
/// that has the same values whatever the others are, and the outer rows count whole blocks of it. Nothing: sets have to be asked.
///
///   outer i // 64; inner i % 64 // 8, i % 8; i from 0 to 511:  first 0, 0; extent 8, 8
std::optional<Boxes> plain_boxes(const std::vector<scalar::Expr>& outer,
                                 const std::vector<scalar::Expr>& inner,
                                 const poly::Reading& domain);

/// Over accesses to one tensor by statements below the first `depth` loops of their path. The box is
/// within the tensor; where it has very many cases, it is one around. The accesses must not be empty sets altogether.
Footprint footprint_of(const poly::Scop&, const poly::Order&,
                       const std::vector<poly::Access>& accesses, size_t depth);

} // namespace kawara::schedule
