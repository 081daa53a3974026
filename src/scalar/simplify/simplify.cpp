#include "scalar/affine_sum.h"
#include "scalar/eval.h"
#include "scalar/expr.h"
#include "scalar/simplify/rule.h"

#include <array>

namespace kawara::scalar {
namespace {

bool is_literal(const Expr& e) { return as<IntLit>(e) || as<FloatLit>(e); }

/// An operation on literals, done. Float functions are left alone: their last bit belongs to
/// whoever runs them.
Expr fold(const Expr& e) {
  if (is_literal(e) || as<Load>(e) || e.type().lanes != 1)
    return Expr();
  const std::vector<Expr> kids = children(e);
  if (kids.empty())
    return Expr();
  for (const Expr& kid : kids)
    if (!is_literal(kid) || kid.type().lanes != 1)
      return Expr();
  if (const auto* n = as<Unary>(e))
    if (n->op != UnaryOp::Neg && n->op != UnaryOp::Abs && n->op != UnaryOp::Not)
      return Expr();
  if (const auto* n = as<Binary>(e); n != nullptr && n->op == BinaryOp::Pow)
    return Expr();
  const auto value = evaluate(e, Leaves{});
  if (!value)
    return Expr();
  return is_float(e.type().elem) ? float_lit(value->f, e.type()) : int_lit(value->i, e.type());
}

/// The chosen side of a select on a literal; also for floats, as no arithmetic is touched.
Expr choose_side(const Expr& e) {
  const auto* n = as<Select>(e);
  const auto cond = n != nullptr ? constant_of(n->cond) : std::nullopt;
  return !cond ? Expr() : *cond != 0 ? n->then : n->otherwise;
}

/// A sum with like terms collected; empty when that is what `e` already is.
Expr collect_terms(const Expr& e) {
  const Expr collected = expr_of(affine_sum(e));
  return equal(collected, e) ? Expr() : collected;
}

Expr divide(const Binary& n, const Expr& e) {
  const auto c = constant_of(n.rhs);
  if (!c || *c <= 0)
    return Expr();
  const AffineSum sum = affine_sum(n.lhs);
  const Expr result = n.op == BinaryOp::FloorDiv ? divide_sum(sum, *c) : reduce_sum(sum, *c);
  return equal(result, e) ? Expr() : result;
}

/// Decides `lhs op rhs` when the bounds of lhs - rhs leave one answer; for min and max, the side.
Expr compare(const Binary& n, const Expr& e) {
  const AffineSum apart = difference(affine_sum(n.lhs), affine_sum(n.rhs));
  const Bounds gap = bounds_of(expr_of(apart));
  const bool below = gap.high && *gap.high < 0, at_most = gap.high && *gap.high <= 0;
  const bool above = gap.low && *gap.low > 0, at_least = gap.low && *gap.low >= 0;
  const auto decide = [&](bool yes, bool no) {
    return yes || no ? int_lit(yes ? 1 : 0, e.type()) : Expr();
  };
  switch (n.op) {
  case BinaryOp::Min:
    return at_most ? n.lhs : at_least ? n.rhs : Expr();
  case BinaryOp::Max:
    return at_least ? n.lhs : at_most ? n.rhs : Expr();
  case BinaryOp::Lt:
    return decide(below, at_least);
  case BinaryOp::Le:
    return decide(at_most, above);
  case BinaryOp::Gt:
    return decide(above, at_most);
  case BinaryOp::Ge:
    return decide(at_least, below);
  case BinaryOp::Eq:
    return decide(at_most && at_least, below || above);
  case BinaryOp::Ne:
    return decide(below || above, at_most && at_least);
  default:
    return Expr();
  }
}

/// Algebra that needs the sum behind an index expression, not just its shape.
Expr index_algebra(const Expr& e) {
  if (const auto* n = as<Unary>(e); n != nullptr && n->op == UnaryOp::Neg && e.type() == kIndex)
    return collect_terms(e);
  const auto* n = as<Binary>(e);
  if (n == nullptr || n->lhs.type() != kIndex)
    return Expr();
  switch (n->op) {
  case BinaryOp::Add:
  case BinaryOp::Sub:
  case BinaryOp::Mul:
    return collect_terms(e);
  case BinaryOp::FloorDiv:
  case BinaryOp::Mod:
    return divide(*n, e);
  default:
    return compare(*n, e);
  }
}

bool is_leaf(const Expr& e) { return is_literal(e) || as<Iter>(e) || as<Param>(e) || as<Var>(e); }

Expr step(const Expr& e) {
  if (is_leaf(e))
    return Expr();
  if (Expr folded = fold(e))
    return folded;
  if (Expr side = choose_side(e))
    return side;
  for (const Rules* rules : {&add_rules(), &mul_rules(), &div_rules(), &min_max_rules(),
                             &compare_rules(), &logic_rules()})
    if (Expr better = apply_first(*rules, e))
      return better;
  return index_algebra(e);
}

} // namespace

Expr simplify(const Expr& e) {
  const auto simpler = [](const Expr& n) {
    const Expr better = step(n);
    if (better)
      return simplify(better);
    n.node().simplest.set();
    return Expr();
  };
  return rewrite(e, simpler, [](const Expr& n) { return n.node().simplest.is_set(); });
}

} // namespace kawara::scalar
