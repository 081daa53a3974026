#pragma once

#include "poly/scop.h"
#include "scalar/expr.h"

namespace kawara::validate {

/// The same with min and max outermost: min(a, b)//4 + c is min(a//4 + c, b//4 + c). Comparisons
/// with them are comparisons with their sides, which sets say without cases.
scalar::Expr with_choices_outside(const scalar::Expr&);

/// Points of `domain` where the condition holds; what is one inequality stays one.
isl::set restricted(const isl::set& domain, const scalar::Expr& condition,
                    const std::vector<program::Param>&);

} // namespace kawara::validate
