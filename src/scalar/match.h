#pragma once

#include "scalar/expr.h"

namespace kawara::scalar {

template <class... Cases> struct Overloaded : Cases... { using Cases::operator()...; };
template <class... Cases> Overloaded(Cases...) -> Overloaded<Cases...>;

/// Calls the case that takes the node kind of `e`. Without a catch-all case, adding a node kind
/// stops the build wherever it is not handled yet.
template <class... Cases> decltype(auto) match(const Expr& e, Cases&&... cases) {
  return std::visit(Overloaded{std::forward<Cases>(cases)...}, e.node().kind);
}

} // namespace kawara::scalar
