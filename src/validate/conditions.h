#pragma once

#include "poly/scop.h"
#include "scalar/expr.h"

namespace kawara::validate {

/// Points of `domain` where the condition holds; what is one inequality stays one.
isl::set restricted(const isl::set& domain, const scalar::Expr& condition,
                    const std::vector<program::Param>&);

} // namespace kawara::validate
