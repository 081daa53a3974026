#pragma once

#include "poly/syntactic/prover.h"
#include "scalar/expr.h"

#include <vector>

namespace kawara::schedule {

using poly::Boxes;

/// The box of a tensor's elements that accesses touch in one iteration of the loops around.
struct Footprint : Boxes {
  isl::set elements; ///< { [o, c] }: iteration o of the loops touches a box that holds c
  isl::set touched;  ///< { [o, c] }: iteration o of the loops touches c itself
};

/// Of element `index`, from the first one of the box that iteration `outer` has.
std::vector<scalar::Expr> positions_in(const Boxes&, const std::vector<scalar::Expr>& outer,
                                       const std::vector<scalar::Expr>& index);

/// { [o] -> [c] } as boxes: `depth` is the number of dimensions of o. Not empty. `known` is what
/// holds of the parameters; no extent is a number only for that. Extents may be larger than needed
/// where the exact ones have very many cases.
Footprint boxes_of(const isl::map& relation, size_t depth, size_t dims,
                   const std::vector<program::Param>&, const isl::set& known, const poly::Context&);

/// Over accesses to one tensor by statements below the first `depth` loops of their path. The box
/// is within the tensor; where it has very many cases, it is one around. The accesses must not be
/// empty sets altogether.
Footprint footprint_of(const poly::Scop&, const poly::Order&,
                       const std::vector<poly::Access>& accesses, size_t depth);

} // namespace kawara::schedule
