#include "validate/place.h"

#include "validate/cells.h"

namespace kawara::validate {

using scalar::Expr;

Expr Place::in_dimensions(const Expr& e) const {
  bool is_known = true;
  scalar::visit(e, [&](const Expr& n) {
    const auto* var = scalar::as<scalar::Var>(n);
    const auto found = var != nullptr ? values.find(var->id) : values.end();
    is_known = is_known && scalar::as<scalar::Load>(n) == nullptr &&
               !scalar::is_float(n.type().elem) &&
               (var == nullptr || (found != values.end() && found->second));
  });
  if (!is_known)
    return {};
  return tidy(scalar::rewrite(e, [&](const Expr& n) -> Expr {
    // Divisions in 32 bits, of what fits (kernel/narrow), are divisions.
    if (const auto* cast = scalar::as<scalar::Cast>(n))
      return cast->arg;
    if (const auto* literal = scalar::as<scalar::IntLit>(n))
      return n.type().elem == scalar::Elem::I32 ? scalar::int_lit(literal->value) : Expr();
    const auto* var = scalar::as<scalar::Var>(n);
    return var != nullptr ? values.at(var->id) : Expr();
  }));
}

Expr Place::of_origin(const Expr& e) const {
  return in_dimensions(scalar::rewrite(e, [&](const Expr& n) -> Expr {
    const auto* point = scalar::as<scalar::Iter>(n);
    return point != nullptr ? scalar::iter(static_cast<uint32_t>(loops + point->index)) : Expr();
  }));
}

} // namespace kawara::validate
