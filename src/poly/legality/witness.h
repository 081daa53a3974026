#pragma once

#include "poly/legality/legality.h"

namespace kawara::poly {

/// Pairs of one dependence that an order breaks. Never empty.
struct Violation {
  Broken broken = Broken::Order;
  size_t dependence = 0;
  LoopId loop{}; ///< the marked loop; for Broken::Order found from the example
  isl::map pairs;
};

/// The example to show: smallest parameter values first (in declaration order), then the first
/// source, then the first sink. Does not depend on the order of `violations`.
Illegal first_witness(const Scop&, const Order&, const std::vector<Violation>& violations);

/// Per loop that both statements share in the source order: "+1", "0", ">=1", "<=-1", "-1..+1",
/// "*".
std::vector<std::string> distance_text(const Scop&, const Dependence&);

/// Index of the element that both ends of the dependence touch at these iterations.
std::vector<int64_t> shared_element(const Scop&, const Dependence&,
                                    const std::vector<int64_t>& params,
                                    const std::vector<int64_t>& source,
                                    const std::vector<int64_t>& sink);

/// Value of a quasi-affine expression at a point.
int64_t value_at(const scalar::Expr&, const std::vector<int64_t>& params,
                 const std::vector<int64_t>& iters);

} // namespace kawara::poly
