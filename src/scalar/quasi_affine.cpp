#include "scalar/expr.h"

namespace kawara::scalar {
namespace {

bool is_affine_binary(const Binary& n) {
  const auto is_positive = [](const Expr& e) {
    const auto c = constant_of(simplify(e));
    return c && *c > 0;
  };
  switch (n.op) {
  case BinaryOp::Add:
  case BinaryOp::Sub:
  case BinaryOp::Min:
  case BinaryOp::Max:
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
  case BinaryOp::Eq:
  case BinaryOp::Ne:
  case BinaryOp::And:
  case BinaryOp::Or:
    return is_quasi_affine(n.lhs) && is_quasi_affine(n.rhs);
  case BinaryOp::Mul:
    return is_quasi_affine(n.lhs) && is_quasi_affine(n.rhs) &&
           (constant_of(simplify(n.lhs)) || constant_of(simplify(n.rhs)));
  case BinaryOp::FloorDiv:
  case BinaryOp::Mod:
    return is_quasi_affine(n.lhs) && is_positive(n.rhs);
  default:
    return false;
  }
}

} // namespace

bool is_quasi_affine(const Expr& e) {
  if (!e || (e.type() != kIndex && e.type() != kBool))
    return false;
  if (as<IntLit>(e) || as<Iter>(e) || as<Param>(e) || as<Var>(e))
    return true;
  if (const auto* n = as<Unary>(e))
    return (n->op == UnaryOp::Neg || n->op == UnaryOp::Not) && is_quasi_affine(n->arg);
  if (const auto* n = as<Binary>(e))
    return is_affine_binary(*n);
  return false;
}

} // namespace kawara::scalar
