#include "scalar/expansion.h"

#include "scalar/formula.h"
#include "support/check.h"

namespace kawara::scalar {

Expr Formula::polynomial(const std::vector<double>& c, const Expr& x, const Expr& xx) const {
  KAWARA_CHECK(c.size() >= 2, "polynomial of degree 0");
  const auto pair = [&](size_t i) {
    return i + 1 < c.size() ? add_product(number(c[i]), number(c[i + 1]), x) : number(c[i]);
  };
  size_t i = (c.size() - 1) / 2 * 2;
  Expr sum = pair(i);
  while (i != 0) {
    i -= 2;
    sum = add_product(pair(i), sum, xx);
  }
  return sum;
}

namespace {

/// What the smaller of it and zero is taken of; else empty.
Expr known_below_zero(const Expr& e) {
  const auto* n = as<Binary>(e);
  if (n == nullptr || n->op != BinaryOp::NanMin)
    return {};
  const auto* lanes = as<Broadcast>(n->lhs);
  const auto* literal = as<FloatLit>(lanes != nullptr ? lanes->arg : n->lhs);
  return literal != nullptr && literal->value == 0 ? n->rhs : Expr();
}

} // namespace

bool is_exp_below_zero(const Expr& e) {
  const auto* n = as<Unary>(e);
  return n != nullptr && n->op == UnaryOp::Exp && has_expansion(n->op, e.type().elem) &&
         known_below_zero(n->arg);
}

Expr expand_scaled_exp(const Expr& e, const Let& let) {
  KAWARA_CHECK(is_exp_below_zero(e), "no exponential of what is never positive");
  const Formula formula(e.type(), let);
  return scaled_exp_below_zero(formula, let("x", known_below_zero(as<Unary>(e)->arg)));
}

bool has_expansion(UnaryOp op, Elem elem) {
  if (elem != Elem::F32)
    return false;
  switch (op) {
  case UnaryOp::Exp:
  case UnaryOp::Log:
  case UnaryOp::Tanh:
  case UnaryOp::Erf:
  case UnaryOp::Sigmoid:
  case UnaryOp::Silu:
  case UnaryOp::Gelu:
  case UnaryOp::GeluTanh:
    return true;
  default:
    return false;
  }
}

Expr expand(UnaryOp op, const Expr& x, Accuracy accuracy, const Let& let) {
  KAWARA_CHECK(has_expansion(op, x.type().elem),
               std::string(name_of(op)) + " of " + to_string(x.type()));
  const Formula formula(x.type(), let);
  const bool is_quick = accuracy == Accuracy::Quick;
  if (const Expr low = op == UnaryOp::Exp ? known_below_zero(x) : Expr())
    return expand_exp_below_zero(formula, let("x", low));
  const Expr arg = let("x", x);
  switch (op) {
  case UnaryOp::Exp:
    return expand_exp(formula, arg);
  case UnaryOp::Log:
    return expand_log(formula, arg);
  case UnaryOp::Tanh:
    return expand_tanh(formula, arg);
  case UnaryOp::Erf:
    return is_quick ? expand_erf_quickly(formula, arg) : expand_erf(formula, arg);
  case UnaryOp::Sigmoid:
    return expand_sigmoid(formula, arg);
  case UnaryOp::Silu:
    return expand_silu(formula, arg);
  case UnaryOp::Gelu:
    return is_quick ? expand_gelu_quickly(formula, arg) : expand_gelu(formula, arg);
  default:
    return expand_gelu_tanh(formula, arg);
  }
}

} // namespace kawara::scalar
