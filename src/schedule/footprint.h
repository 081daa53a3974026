#pragma once

#include "poly/scop.h"
#include "scalar/expr.h"

#include <vector>

namespace kawara::schedule {

/// The box of a tensor's cells that accesses touch in one iteration of the loops around.
struct Footprint {
  isl::set cells; ///< { [o, c] }: iteration o of the loops touches a box that holds c
  std::vector<scalar::Expr>
      first; ///< by dimension: the smallest c, in o (Iter d) and the parameters
  std::vector<scalar::Expr> extent; ///< by dimension: how many, in the parameters
};

/// Of cell `index`, from the first one of the box that iteration `outer` has.
std::vector<scalar::Expr> positions_in(const Footprint&, const std::vector<scalar::Expr>& outer,
                                       const std::vector<scalar::Expr>& index);

/// { [o] -> [c] } as boxes: `depth` is the number of dimensions of o. Not empty.
Footprint boxes_of(const isl::map& relation, size_t depth, size_t dims,
                   const std::vector<program::Param>&);

/// Over accesses to one tensor by statements below the first `depth` loops of their path. The box is
/// within the tensor. The accesses must not be empty sets altogether.
Footprint footprint_of(const poly::Scop&, const poly::Order&,
                       const std::vector<poly::Access>& accesses, size_t depth);

} // namespace kawara::schedule
