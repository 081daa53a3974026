#include "validate/conditions.h"

#include "poly/affine.h"
#include "poly/comparison.h"

#include <optional>

namespace kawara::validate {

using scalar::binary;
using scalar::BinaryOp;
using scalar::Expr;

namespace {

std::optional<BinaryOp> opposite(BinaryOp op) {
  switch (op) {
  case BinaryOp::Lt:
    return BinaryOp::Ge;
  case BinaryOp::Ge:
    return BinaryOp::Lt;
  case BinaryOp::Gt:
    return BinaryOp::Le;
  case BinaryOp::Le:
    return BinaryOp::Gt;
  case BinaryOp::Ne:
    return BinaryOp::Eq;
  default:
    return std::nullopt;
  }
}

bool is_choice(const scalar::Binary* b) {
  return b != nullptr && (b->op == BinaryOp::Min || b->op == BinaryOp::Max);
}

/// A comparison of two sides, of which one is a choice, as one condition or the other: x < max(a,
/// b), min(a, b) < x. `both`: all of them.
struct Sides {
  Expr first, second;
  bool are_both = false;
};
std::optional<Sides> sides_of(const scalar::Binary& comparison) {
  const bool is_less = comparison.op == BinaryOp::Lt || comparison.op == BinaryOp::Le;
  if (!is_less && comparison.op != BinaryOp::Gt && comparison.op != BinaryOp::Ge)
    return std::nullopt;
  const Expr rhs = with_choices_outside(comparison.rhs), lhs = with_choices_outside(comparison.lhs);
  if (const auto* b = scalar::as<scalar::Binary>(rhs); is_choice(b))
    return Sides{binary(comparison.op, lhs, b->lhs), binary(comparison.op, lhs, b->rhs),
                 (b->op == BinaryOp::Min) == is_less};
  if (const auto* b = scalar::as<scalar::Binary>(lhs); is_choice(b))
    return Sides{binary(comparison.op, b->lhs, rhs), binary(comparison.op, b->rhs, rhs),
                 (b->op == BinaryOp::Max) == is_less};
  return std::nullopt;
}

} // namespace

Expr with_choices_outside(const Expr& e) {
  return scalar::rewrite(e, [](const Expr& n) -> Expr {
    const auto* b = scalar::as<scalar::Binary>(n);
    if (b == nullptr || n.type() != scalar::kIndex)
      return {};
    const auto* left = scalar::as<scalar::Binary>(b->lhs);
    const auto* right = scalar::as<scalar::Binary>(b->rhs);
    const auto number = scalar::constant_of(b->rhs);
    const bool grows =
        b->op == BinaryOp::Add || b->op == BinaryOp::Sub ||
        ((b->op == BinaryOp::Mul || b->op == BinaryOp::FloorDiv) && number && *number > 0);
    const auto simple = [](const Expr& x) { return scalar::simplify(x); };
    if (grows && is_choice(left))
      return with_choices_outside(binary(left->op, simple(binary(b->op, left->lhs, b->rhs)),
                                         simple(binary(b->op, left->rhs, b->rhs))));
    if (b->op == BinaryOp::Add && is_choice(right))
      return with_choices_outside(binary(right->op, simple(binary(b->op, b->lhs, right->lhs)),
                                         simple(binary(b->op, b->lhs, right->rhs))));
    return {};
  });
}

isl::set restricted(const isl::set& domain, const Expr& condition,
                    const std::vector<program::Param>& params) {
  if (const auto value = scalar::constant_of(condition))
    return *value != 0 ? domain : isl::set::empty(domain.space());
  if (const auto* no = scalar::as<scalar::Unary>(condition); no != nullptr)
    if (const auto* b = scalar::as<scalar::Binary>(no->arg)) {
      if (const auto op = opposite(b->op))
        return restricted(domain, binary(*op, b->lhs, b->rhs), params);
      const auto without = [&](const Expr& e) { return scalar::unary(scalar::UnaryOp::Not, e); };
      if (b->op == BinaryOp::And) // in pieces that do not meet
        return restricted(domain, without(b->lhs), params)
            .unite(restricted(restricted(domain, b->lhs, params), without(b->rhs), params));
      if (b->op == BinaryOp::Or)
        return restricted(restricted(domain, without(b->lhs), params), without(b->rhs), params);
    }
  const auto* b = scalar::as<scalar::Binary>(condition);
  if (b != nullptr && b->op == BinaryOp::And)
    return restricted(restricted(domain, b->lhs, params), b->rhs, params);
  if (b != nullptr && b->lhs.type() == scalar::kIndex) {
    const auto lhs = poly::plain_function(b->lhs, domain.space(), params);
    const auto rhs = poly::plain_function(b->rhs, domain.space(), params);
    if (lhs && rhs)
      if (const auto half = poly::compared(b->op, *lhs, *rhs))
        return domain.intersect(*half);
    if (const auto sides = sides_of(*b)) {
      const isl::set first = restricted(domain, scalar::simplify(sides->first), params);
      if (sides->are_both)
        return restricted(first, scalar::simplify(sides->second), params);
      // In pieces that do not meet.
      const isl::set rest = restricted(
          domain, scalar::unary(scalar::UnaryOp::Not, scalar::simplify(sides->first)), params);
      return first.unite(restricted(rest, scalar::simplify(sides->second), params));
    }
  }
  return poly::set_from_condition(condition, domain, params);
}

} // namespace kawara::validate
