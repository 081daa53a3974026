#pragma once

#include "scalar/expr.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace kawara::scalar {

/// The iterator that an expression is; nothing where it is anything else.
inline std::optional<uint32_t> iterator_of(const Expr& e) {
  const auto* it = as<Iter>(e);
  return it != nullptr ? std::optional(it->index) : std::nullopt;
}

/// Whether the iterator is part of the expression.
inline bool mentions_iterator(const Expr& e, uint32_t iterator) {
  bool found = false;
  visit(e, [&](const Expr& n) { found = found || iterator_of(n) == iterator; });
  return found;
}

/// The one iterator of an expression without parameters, however often it has it.
inline std::optional<uint32_t> only_iterator(const Expr& e) {
  std::optional<uint32_t> found;
  bool is_only = true;
  visit(e, [&](const Expr& n) {
    const std::optional<uint32_t> it = iterator_of(n);
    is_only = is_only && as<Param>(n) == nullptr && (!it || !found || found == it);
    if (it)
      found = it;
  });
  return is_only ? found : std::nullopt;
}

/// `e` with its iterators replaced by what they were solved to; empty when it needs one that was
/// not.
inline Expr in_solved(const Expr& e, const std::vector<Expr>& solved) {
  bool is_known = true;
  visit(e, [&](const Expr& n) {
    const std::optional<uint32_t> it = iterator_of(n);
    is_known = is_known && (!it || solved[*it]);
  });
  return is_known ? simplify(substitute_iters(e, solved)) : Expr{};
}

} // namespace kawara::scalar
