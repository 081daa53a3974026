#pragma once

#include "scalar/expr.h"

#include <algorithm>
#include <vector>

namespace kawara::scalar {

/// All loads of an expression, those in indices of others too, in the order of a walk; they live as
/// long as it does.
inline std::vector<const Load*> loads_in(const Expr& value) {
  std::vector<const Load*> loads;
  visit(value, [&](const Expr& e) {
    if (const auto* load = as<Load>(e))
      loads.push_back(load);
  });
  return loads;
}

/// Whether the value, or an index in it, reads the tensor.
inline bool reads(const Expr& value, uint32_t tensor) {
  const auto loads = loads_in(value);
  return std::any_of(loads.begin(), loads.end(),
                     [&](const Load* load) { return load->tensor == tensor; });
}

/// Whether two indices of a tensor are known to say the same place.
inline bool is_same_place(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Expr& x, const Expr& y) { return constant_of(simplify(x - y)) == 0; });
}

} // namespace kawara::scalar
