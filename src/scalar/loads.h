#pragma once

#include "scalar/expr.h"

#include <vector>

namespace kawara::scalar {

/// All loads of an expression, those in indices of others too, in the order of a walk; they live as long as it does.
inline std::vector<const Load*> loads_in(const Expr& value) {
  std::vector<const Load*> loads;
  visit(value, [&](const Expr& e) {
    if (const auto* load = as<Load>(e))
      loads.push_back(load);
  });
  return loads;
}

} // namespace kawara::scalar
