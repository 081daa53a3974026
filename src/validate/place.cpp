#include "validate/place.h"

#include "kernel/analysis/ranges.h"
#include "kernel/walk.h"
#include "validate/conditions.h"
#include "validate/elements.h"

namespace kawara::validate {

using scalar::binary;
using scalar::BinaryOp;
using scalar::Expr;
using scalar::int_lit;

namespace {

/// The end of a loop without what says no more than that it may be empty: max(e, 0) is e for a loop
/// that begins at 0.
Expr above(const Expr& end, const Expr& first) {
  const Expr outside = with_choices_outside(end);
  const auto least = first ? scalar::constant_of(first) : std::nullopt;
  const auto* b = scalar::as<scalar::Binary>(outside);
  if (b == nullptr || b->op != BinaryOp::Max || !least)
    return outside;
  const auto is_low = [&](const Expr& e) {
    const auto number = scalar::constant_of(e);
    return number && *number <= *least;
  };
  return is_low(b->rhs) ? above(b->lhs, first) : is_low(b->lhs) ? above(b->rhs, first) : outside;
}

} // namespace

Expr Place::enter(uint32_t var, uint32_t number) {
  const auto dimension = static_cast<uint32_t>(loops++);
  vars.push_back(var);
  numbers.push_back(number);
  const Expr value = scalar::iter(dimension);
  set(var, value);
  return value;
}

void Place::set(uint32_t var, const Expr& value) {
  Expr& now = values_[var];
  changes_.emplace_back(var, now);
  now = value;
}

void Place::back_to(const Mark& mark) {
  for (; changes_.size() > mark.changes; changes_.pop_back())
    values_[changes_.back().first] = changes_.back().second;
  loops = mark.loops;
  vars.resize(loops);
  numbers.resize(loops);
  conditions.resize(mark.conditions);
}

void Place::require(BinaryOp op, const Expr& lhs, const Expr& rhs) {
  conditions.push_back(rhs ? binary(op, lhs, rhs) : Expr());
}

/// Bounds one by one: sets without cases are far cheaper.
void Place::require_each(BinaryOp op, const Expr& var, const Expr& bound, BinaryOp join) {
  if (!bound)
    return require(op, var, bound);
  for (const Expr& e : kernel::operands_of(bound, join))
    require(op, var, e);
}

void Place::enter(const kernel::For& s, uint32_t number) {
  const Expr var = enter(s.var, number);
  const Expr first = in_dimensions(s.lo), end = in_dimensions(s.hi);
  require_each(BinaryOp::Ge, var, first, BinaryOp::Max);
  require_each(BinaryOp::Lt, var, end ? above(end, first) : end, BinaryOp::Min);
  if (s.step != 1 && first)
    require(BinaryOp::Eq, binary(BinaryOp::Mod, var - first, int_lit(s.step)), int_lit(0));
  forget_assigned(s.body);
}

void Place::forget_assigned(const kernel::Block& body) {
  kernel::visit(body, [&](const kernel::Assign& assign) { set(assign.var, Expr()); });
}

void Place::enter(const kernel::Launch& s, uint32_t number) {
  for (size_t a = 0; a < 3; ++a) {
    const Expr var = enter(s.block_vars[a], number++);
    require(BinaryOp::Ge, var, int_lit(0));
    require(BinaryOp::Lt, var, in_dimensions(s.blocks[a]));
  }
  for (size_t a = 0; a < 3; ++a) {
    const Expr var = enter(s.thread_vars[a], number++);
    require(BinaryOp::Ge, var, int_lit(0));
    require(BinaryOp::Lt, var, int_lit(s.threads[a]));
  }
}

void Place::define(const kernel::Kernel& kernel, const kernel::Define& s) {
  if (kernel.variables[s.var].type == scalar::kIndex)
    set(s.var, in_dimensions(s.value));
}

/// An index that changes as the kernel runs is no function of the loops.
void Place::assign(const kernel::Kernel& kernel, const kernel::Assign& s) {
  if (kernel.variables[s.var].type == scalar::kIndex)
    set(s.var, Expr());
}

Expr Place::in_dimensions(const Expr& e) const {
  bool is_known = true;
  scalar::visit(e, [&](const Expr& n) {
    const auto* var = scalar::as<scalar::Var>(n);
    const auto found = var != nullptr ? values_.find(var->id) : values_.end();
    is_known = is_known && scalar::as<scalar::Load>(n) == nullptr &&
               !scalar::is_float(n.type().elem) &&
               (var == nullptr || (found != values_.end() && found->second));
  });
  if (!is_known)
    return {};
  return tidy(scalar::rewrite(e, [&](const Expr& n) -> Expr {
    // Divisions in 32 bits, of what fits (kernel/index/narrow), are divisions.
    if (const auto* cast = scalar::as<scalar::Cast>(n))
      return cast->arg;
    if (const auto* literal = scalar::as<scalar::IntLit>(n))
      return n.type().elem == scalar::Elem::I32 ? scalar::int_lit(literal->value) : Expr();
    const auto* var = scalar::as<scalar::Var>(n);
    return var != nullptr ? values_.at(var->id) : Expr();
  }));
}

Expr Place::of_origin(const Expr& e) const {
  return in_dimensions(scalar::rewrite(e, [&](const Expr& n) -> Expr {
    const auto* point = scalar::as<scalar::Iter>(n);
    return point != nullptr ? scalar::iter(static_cast<uint32_t>(loops + point->index)) : Expr();
  }));
}

} // namespace kawara::validate
