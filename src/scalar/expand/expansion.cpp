#include "scalar/expand/expansion.h"

#include "scalar/expand/formula.h"
#include "support/check.h"

#include <cmath>

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

Expr Formula::small_product(const Expr& a, const Expr& b, const Expr& is_small) const {
  if (!avoids_denormals())
    return a * b;
  const Expr edge = select(is_small, number(kLeastNormal), number(0));
  const Expr bits = let("b", unary(UnaryOp::Bits, add_product(edge, a, b)));
  return unary(UnaryOp::FromBits, select(is_small, bits - integer(lowest_exponent_bit()), bits));
}

Expr Formula::zero_where(const Expr& is_nothing, const Expr& factor) const {
  return avoids_denormals() ? select(is_nothing, number(0), factor) : factor;
}

namespace {

/// Below this exponentials of kernel/math/unshifted_exp are nothing beside the largest.
constexpr double kLeastBelowZero = -104.5, kLeastUnshifted = kLeastBelowZero - kLargestUnshifted;

/// The right side of op(number, x); else empty.
Expr beside(const Expr& e, BinaryOp op, double number) {
  const auto* n = as<Binary>(e);
  return n != nullptr && n->op == op && is_number(n->lhs, number) ? n->rhs : Expr();
}

Expr known_below_zero(const Expr& e) { return beside(e, BinaryOp::NanMin, 0); }

/// x of exp(x) in f32; else empty.
Expr exponent_in(const Expr& e) {
  const auto* n = as<Unary>(e);
  return n != nullptr && n->op == UnaryOp::Exp && has_expansion(n->op, e.type().elem) ? n->arg
                                                                                      : Expr();
}

} // namespace

bool is_number(const Expr& e, double value) {
  const auto* lanes = as<Broadcast>(e);
  const auto* literal = as<FloatLit>(lanes != nullptr ? lanes->arg : e);
  return literal != nullptr && literal->value == value;
}

bool is_exp_below_zero(const Expr& e) {
  const Expr x = exponent_in(e);
  return x && known_below_zero(x);
}

const Load* element_below_exp(const Expr& e) {
  const auto* call = as<Unary>(e);
  const auto* difference =
      call != nullptr && call->op == UnaryOp::Exp ? as<Binary>(call->arg) : nullptr;
  return difference != nullptr && difference->op == BinaryOp::Sub ? as<Load>(difference->rhs)
                                                                  : nullptr;
}

Expr subtrahend_in(const Expr& e) {
  const Expr x = exponent_in(e), below = x ? known_below_zero(x) : Expr();
  const auto* difference = below ? as<Binary>(below) : nullptr;
  if (difference == nullptr || difference->op != BinaryOp::Sub)
    return {};
  const auto* lanes = as<Broadcast>(difference->rhs);
  return lanes != nullptr ? lanes->arg : difference->rhs;
}

Expr unshifted_exp(const Expr& x) {
  return unary(UnaryOp::Exp, binary(BinaryOp::NanMax, float_lit(kLeastUnshifted, x.type()), x));
}

bool is_scaled_exp(const Expr& e) {
  const auto* n = as<Binary>(e);
  const Expr x = n != nullptr && n->op == BinaryOp::Mul ? exponent_in(n->lhs) : Expr();
  if (!x)
    return false;
  const bool is_of_rows = is_number(n->rhs, kRowExpScale);
  return known_below_zero(x) ? is_of_rows || is_number(n->rhs, kExpBelowZeroScale)
                             : is_of_rows && beside(x, BinaryOp::NanMax, kLeastUnshifted);
}

Expr expand_scaled_exp(const Expr& e, const Let& let, Denormals denormals) {
  KAWARA_CHECK(is_scaled_exp(e), "no exponential that is larger by a factor");
  const Formula formula(e.type(), let);
  const auto* product = as<Binary>(e);
  const Expr x = exponent_in(product->lhs), below = known_below_zero(x);
  const double least = below ? kLeastBelowZero : kLeastUnshifted;
  const Expr z = let("z", below ? formula.at_least(let("x", below), least) : x);
  const bool is_of_rows = is_number(product->rhs, kRowExpScale);
  const double scale = is_of_rows ? kRowExpScale : kExpBelowZeroScale;
  const Expr scaled = scaled_exp(formula, z, scale);
  if (denormals == Denormals::Fast)
    return scaled;
  const Expr e_z = let("e", scaled);
  return select(formula.is_below(e_z, std::exp(least + 0.0625) * scale), formula.number(0), e_z);
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
  case UnaryOp::Sin:
  case UnaryOp::Cos:
  case UnaryOp::Silu:
  case UnaryOp::Gelu:
  case UnaryOp::GeluTanh:
    return true;
  default:
    return false;
  }
}

Expr expand(UnaryOp op, const Expr& x, Accuracy accuracy, const Let& let, Denormals denormals) {
  KAWARA_CHECK(has_expansion(op, x.type().elem),
               std::string(name_of(op)) + " of " + to_string(x.type()));
  const Formula formula(x.type(), let, denormals);
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
  case UnaryOp::Sin:
    return expand_sin(formula, arg);
  case UnaryOp::Cos:
    return expand_cos(formula, arg);
  case UnaryOp::Silu:
    return expand_silu(formula, arg);
  case UnaryOp::Gelu:
    return is_quick ? expand_gelu_quickly(formula, arg) : expand_gelu(formula, arg);
  default:
    return expand_gelu_tanh(formula, arg);
  }
}

} // namespace kawara::scalar
