#include "program/recognise_update.h"

namespace kawara::program {

using scalar::BinaryOp;

namespace {

std::optional<ReduceOp> update_of(BinaryOp op) {
  switch (op) {
  case BinaryOp::Add:
  case BinaryOp::Sub:
    return ReduceOp::Sum;
  case BinaryOp::Mul:
    return ReduceOp::Prod;
  case BinaryOp::Max:
    return ReduceOp::Max;
  case BinaryOp::Min:
    return ReduceOp::Min;
  default:
    return std::nullopt;
  }
}

bool contains(const Expr& e, const Expr& part) {
  bool found = false;
  const bool is_load = scalar::as<scalar::Load>(part) != nullptr;
  scalar::visit(e, [&](const Expr& x) {
    if (!found && (!is_load || scalar::as<scalar::Load>(x)))
      found = scalar::equal(x, part);
  });
  return found;
}

Expr negative(const Expr& e) {
  if (const auto* i = scalar::as<scalar::IntLit>(e); i && i->value != INT64_MIN)
    return scalar::int_lit(-i->value, e.type());
  if (const auto* f = scalar::as<scalar::FloatLit>(e))
    return scalar::float_lit(-f->value, e.type());
  return scalar::unary(scalar::UnaryOp::Neg, e);
}

} // namespace

void recognise_update(const std::vector<Tensor>& tensors, Statement& s) {
  const scalar::Elem elem = tensors[s.tensor].elem;
  const scalar::Type computed{scalar::compute_type(elem), 1};
  const Expr element = scalar::load(s.tensor, s.index, {elem, 1});
  const Expr old = scalar::cast(element, computed);
  if (s.op != ReduceOp::None) {
    if (contains(s.value, element)) {
      s.value = scalar::combine(s.op, old, s.value);
      s.op = ReduceOp::None;
    }
    return;
  }
  const auto* b = scalar::as<scalar::Binary>(s.value);
  const auto op = b ? update_of(b->op) : std::nullopt;
  if (!op)
    return;
  const bool is_left = scalar::equal(b->lhs, old);
  if (!is_left && (b->op == BinaryOp::Sub || !scalar::equal(b->rhs, old)))
    return;
  Expr rest = is_left ? b->rhs : b->lhs;
  if (contains(rest, element))
    return;
  s.value = b->op == BinaryOp::Sub ? negative(rest) : rest;
  s.op = *op;
}

} // namespace kawara::program
