#include "program/text/typed.h"

#include <algorithm>
#include <limits>

namespace kawara::program {

using scalar::BinaryOp;
using scalar::Elem;
using scalar::Expr;
using scalar::Type;

namespace {

Type type_of(Elem elem) { return Type{elem, 1}; }

Expr literal(double value, Elem elem) {
  return scalar::float_lit(scalar::round_to(elem, value), type_of(elem));
}

bool fits(int64_t value, Elem elem) { return scalar::wrap_to(elem, value) == value; }

// A weak integer in another type. Selects between literals keep their shape.
Expr integer_in(const Expr& e, Elem to) {
  if (const auto* lit = scalar::as<scalar::IntLit>(e)) {
    if (scalar::is_float(to))
      return literal(double(lit->value), to);
    if (fits(lit->value, to))
      return scalar::int_lit(lit->value, type_of(to));
  }
  if (const auto* s = scalar::as<scalar::Select>(e))
    return scalar::select(s->cond, integer_in(s->then, to), integer_in(s->otherwise, to));
  return scalar::cast(e, type_of(to));
}

// A weak float computed in `to` throughout. Below the casts from integers nothing changes.
Expr float_in(const Expr& e, Elem to) {
  if (const auto* lit = scalar::as<scalar::FloatLit>(e))
    return literal(lit->value, to);
  if (const auto* c = scalar::as<scalar::Cast>(e))
    return scalar::cast(c->arg, type_of(to));
  if (const auto* s = scalar::as<scalar::Select>(e))
    return scalar::select(s->cond, float_in(s->then, to), float_in(s->otherwise, to));
  if (const auto* u = scalar::as<scalar::Unary>(e))
    return scalar::unary(u->op, float_in(u->arg, to));
  if (const auto* b = scalar::as<scalar::Binary>(e))
    return scalar::binary(b->op, float_in(b->lhs, to), float_in(b->rhs, to));
  return scalar::cast(e, type_of(to));
}

Value number(Value v) {
  if (v.is_bool()) {
    v.expr = scalar::cast(v.expr, type_of(Elem::I32));
    v.size += 1;
  }
  return v;
}

} // namespace

Expr converted(const Value& v, Elem to) {
  if (v.elem() == to)
    return v.expr;
  if (v.weak == Weak::Integer)
    return integer_in(v.expr, to);
  if (v.weak == Weak::Float && scalar::is_float(to))
    return float_in(v.expr, to);
  return scalar::cast(v.expr, type_of(to));
}

std::optional<int64_t> literal_of(const Value& v) {
  if (!v || v.weak != Weak::Integer)
    return std::nullopt;
  return scalar::constant_of(v.expr);
}

Meeting meet(const Value& left, const Value& right) {
  const Value a = number(left), b = number(right);
  if (a.weak == Weak::No && b.weak == Weak::No)
    return {scalar::compute_type(a.elem(), b.elem()), Weak::No};
  if (a.weak != Weak::No && b.weak != Weak::No) {
    const bool is_float = a.weak == Weak::Float || b.weak == Weak::Float;
    return is_float ? Meeting{Elem::F64, Weak::Float} : Meeting{Elem::I64, Weak::Integer};
  }
  const Value& weak = a.weak != Weak::No ? a : b;
  const Value& strong = a.weak != Weak::No ? b : a;
  if (strong.is_float())
    return {strong.elem(), Weak::No};
  if (weak.weak == Weak::Float)
    return {Elem::F64, Weak::Float};
  const auto lit = literal_of(weak);
  return {lit && !fits(*lit, strong.elem()) ? Elem::I64 : strong.elem(), Weak::No};
}

Value as_float(Value v) {
  if (v.is_float())
    return v;
  v = number(v);
  v.expr = converted(v, Elem::F64);
  v.weak = Weak::Float;
  v.size += 1;
  return v;
}

std::optional<int64_t> fold(BinaryOp op, int64_t a, int64_t b) {
  int64_t r = 0;
  switch (op) {
  case BinaryOp::Add:
    return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(r);
  case BinaryOp::Sub:
    return __builtin_sub_overflow(a, b, &r) ? std::nullopt : std::optional(r);
  case BinaryOp::Mul:
    return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(r);
  case BinaryOp::Min:
    return std::min(a, b);
  case BinaryOp::Max:
    return std::max(a, b);
  case BinaryOp::FloorDiv:
    if (b == 0 || (a == std::numeric_limits<int64_t>::min() && b == -1))
      return std::nullopt;
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  case BinaryOp::Mod:
    if (b == 0 || b == -1)
      return b == 0 ? std::nullopt : std::optional<int64_t>(0);
    return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
  case BinaryOp::BitAnd:
    return a & b;
  case BinaryOp::BitOr:
    return a | b;
  case BinaryOp::BitXor:
    return a ^ b;
  case BinaryOp::Shr:
    return b < 0 || b > 63 ? std::nullopt : std::optional(a >> b);
  case BinaryOp::Shl:
    return a < 0 || b < 0 || b > 62 || a > std::numeric_limits<int64_t>::max() >> b
               ? std::nullopt
               : std::optional(a << b);
  default:
    return std::nullopt;
  }
}

Value arithmetic(BinaryOp op, const Value& a, const Value& b, Span where) {
  Value result;
  result.where = where;
  if (const auto x = literal_of(a), y = literal_of(b); x && y) {
    if (const auto folded = fold(op, *x, *y)) {
      result.expr = scalar::int_lit(*folded);
      result.weak = Weak::Integer;
      return result;
    }
  }
  const Value left = number(a), right = number(b);
  const Meeting m = meet(left, right);
  result.expr = scalar::binary(op, converted(left, m.elem), converted(right, m.elem));
  result.weak = m.weak;
  result.size = left.size + right.size + 3;
  return result;
}

Value negated(const Value& arg, Span where) {
  Value v = number(arg);
  v.where = where;
  if (const auto lit = literal_of(v); lit && *lit != std::numeric_limits<int64_t>::min())
    v.expr = scalar::int_lit(-*lit);
  else if (const auto* f = scalar::as<scalar::FloatLit>(v.expr))
    v.expr = scalar::float_lit(-f->value, v.expr.type());
  else
    v.expr = scalar::unary(scalar::UnaryOp::Neg, v.expr);
  v.size += 1;
  return v;
}

} // namespace kawara::program
