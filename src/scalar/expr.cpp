#include "scalar/expr.h"

#include "scalar/reduce_op.h"
#include "support/check.h"

#include <bit>
#include <cmath>
#include <limits>

namespace kawara::scalar {
namespace {

template <class Kind> Expr make(Type type, Kind kind) {
  return Expr(std::make_shared<const Node>(Node{type, std::move(kind)}));
}

Type scalar_of(Type type) { return {type.elem, 1}; }

bool is_computed(Elem elem) { return compute_type(elem) == elem; }

void check_unary(UnaryOp op, Type type) {
  const auto seen = [&] { return std::string(name_of(op)) + " of " + to_string(type); };
  if (op == UnaryOp::Not)
    KAWARA_CHECK(type.elem == Elem::Bool, seen());
  else if (op == UnaryOp::Neg || op == UnaryOp::Abs)
    KAWARA_CHECK(is_computed(type.elem), seen());
  else if (op == UnaryOp::Bits || op == UnaryOp::FromBits)
    KAWARA_CHECK(is_computed(type.elem) && is_float(type.elem) == (op == UnaryOp::Bits), seen());
  else
    KAWARA_CHECK(is_computed(type.elem) && is_float(type.elem), seen());
}

bool accepts(BinaryOp op, Elem elem) {
  switch (op) {
  case BinaryOp::And:
  case BinaryOp::Or:
    return elem == Elem::Bool;
  case BinaryOp::Eq:
  case BinaryOp::Ne:
    return elem == Elem::Bool || is_computed(elem);
  case BinaryOp::FloorDiv:
  case BinaryOp::Mod:
  case BinaryOp::BitAnd:
  case BinaryOp::BitOr:
  case BinaryOp::BitXor:
  case BinaryOp::Shl:
  case BinaryOp::Shr:
    return is_computed(elem) && is_integer(elem);
  case BinaryOp::Div:
  case BinaryOp::Pow:
  case BinaryOp::NanMin:
  case BinaryOp::NanMax:
  case BinaryOp::CopySign:
  case BinaryOp::Atan2:
    return is_computed(elem) && is_float(elem);
  default:
    return is_computed(elem);
  }
}

Elem result_of(UnaryOp op, Elem elem) {
  if (op == UnaryOp::Bits)
    return elem == Elem::F32 ? Elem::I32 : Elem::I64;
  if (op == UnaryOp::FromBits)
    return elem == Elem::I32 ? Elem::F32 : Elem::F64;
  return elem;
}

bool gives_bool(BinaryOp op) { return op >= BinaryOp::Lt; }

int64_t lowest_of(Elem elem) {
  switch (elem) {
  case Elem::I64:
    return std::numeric_limits<int64_t>::min();
  case Elem::I32:
    return std::numeric_limits<int32_t>::min();
  case Elem::I16:
    return std::numeric_limits<int16_t>::min();
  case Elem::I8:
    return std::numeric_limits<int8_t>::min();
  default:
    return 0;
  }
}

int64_t highest_of(Elem elem) {
  switch (elem) {
  case Elem::U8:
    return 255;
  case Elem::U16:
    return UINT16_MAX;
  case Elem::U32:
    return UINT32_MAX;
  case Elem::U64:
    return -1; // all bits
  case Elem::Bool:
    return 1;
  default:
    return -(lowest_of(elem) + 1);
  }
}

Expr literal_of(Type type, int64_t integer, double number) {
  return is_float(type.elem) ? float_lit(number, type) : int_lit(integer, type);
}

} // namespace

Expr int_lit(int64_t value, Type type) {
  KAWARA_CHECK(!is_float(type.elem), "integer literal of type " + to_string(type));
  return broadcast(make(scalar_of(type), IntLit{wrap_to(type.elem, value)}), type.lanes);
}

Expr float_lit(double value, Type type) {
  KAWARA_CHECK(is_float(type.elem), "float literal of type " + to_string(type));
  return broadcast(make(scalar_of(type), FloatLit{round_to(type.elem, value)}), type.lanes);
}

Expr zero_of(Type type) { return literal_of(type, 0, 0.0); }

Expr iter(uint32_t index) { return make(kIndex, Iter{index}); }
Expr param(uint32_t index) { return make(kIndex, Param{index}); }
Expr var(uint32_t id, Type type) { return make(type, Var{id}); }

Expr load(uint32_t tensor, std::vector<Expr> index, Type type) {
  for (const Expr& e : index)
    KAWARA_CHECK(e && is_integer(e.type().elem), "index of a load must be an integer");
  return make(type, Load{tensor, std::move(index)});
}

Expr unary(UnaryOp op, Expr arg) {
  KAWARA_CHECK(arg, std::string(name_of(op)));
  check_unary(op, arg.type());
  const Type type{result_of(op, arg.type().elem), arg.type().lanes};
  return make(type, Unary{op, std::move(arg)});
}

Expr binary(BinaryOp op, Expr lhs, Expr rhs) {
  KAWARA_CHECK(lhs && rhs, std::string(name_of(op)));
  const Type type = lhs.type();
  KAWARA_CHECK(type == rhs.type() && accepts(op, type.elem),
               to_string(type) + " " + std::string(name_of(op)) + " " + to_string(rhs.type()));
  const Type result{gives_bool(op) ? Elem::Bool : type.elem, type.lanes};
  return make(result, Binary{op, std::move(lhs), std::move(rhs)});
}

Expr select(Expr cond, Expr then, Expr otherwise) {
  KAWARA_CHECK(cond && then && otherwise, "select");
  const Type type = then.type();
  KAWARA_CHECK(type == otherwise.type(),
               "select of " + to_string(type) + " and " + to_string(otherwise.type()));
  KAWARA_CHECK(cond.type().elem == Elem::Bool &&
                   (cond.type().lanes == 1 || cond.type().lanes == type.lanes),
               "condition of select has type " + to_string(cond.type()));
  return make(type, Select{std::move(cond), std::move(then), std::move(otherwise)});
}

Expr cast(Expr arg, Type to) {
  KAWARA_CHECK(arg && arg.type().lanes == to.lanes, "cast to " + to_string(to));
  return arg.type() == to ? arg : make(to, Cast{std::move(arg)});
}

Expr ramp(Expr base, int64_t stride, uint16_t lanes) {
  KAWARA_CHECK(base && base.type().lanes == 1 && is_integer(base.type().elem),
               "base of a ramp must be a scalar integer");
  const Elem elem = base.type().elem;
  return lanes == 1 ? base : make(Type{elem, lanes}, Ramp{std::move(base), stride});
}

Expr runs(Expr base, int64_t length, int64_t stride, uint16_t lanes) {
  KAWARA_CHECK(length > 0 && lanes % length == 0,
               "runs of " + std::to_string(length) + " elements");
  if (length == lanes || stride == length)
    return ramp(std::move(base), 1, lanes);
  if (length == 1)
    return ramp(std::move(base), stride, lanes);
  KAWARA_CHECK(base && base.type().lanes == 1 && is_integer(base.type().elem),
               "base of runs must be a scalar integer");
  const Elem elem = base.type().elem;
  return make(Type{elem, lanes}, Runs{std::move(base), length, stride});
}

Expr broadcast(Expr arg, uint16_t lanes) {
  KAWARA_CHECK(arg && lanes >= 1 && lanes % arg.type().lanes == 0,
               "broadcast to " + std::to_string(lanes) + " lanes");
  const Elem elem = arg.type().elem;
  return lanes == arg.type().lanes ? arg : make(Type{elem, lanes}, Broadcast{std::move(arg)});
}

Expr reduce(ReduceOp op, Expr arg, uint16_t lanes) {
  KAWARA_CHECK(arg && op != ReduceOp::None && is_computed(arg.type().elem),
               "horizontal " + std::string(name_of(op)));
  KAWARA_CHECK(lanes == 1 || (lanes > 0 && arg.type().lanes % lanes == 0 &&
                              std::has_single_bit(unsigned{arg.type().lanes} / lanes)),
               "lanes reduced to " + std::to_string(lanes));
  const Type type{arg.type().elem, lanes};
  return arg.type().lanes == lanes ? arg : make(type, Reduce{op, std::move(arg)});
}

Expr scan(ReduceOp op, Expr before, Expr arg) {
  KAWARA_CHECK(before && arg && op != ReduceOp::None && before.type() == arg.type() &&
                   is_computed(arg.type().elem),
               "running " + std::string(name_of(op)));
  const Type type = arg.type();
  return make(type, Scan{op, std::move(before), std::move(arg)});
}

Expr within(Expr index, Expr extent, uint32_t tensor, uint32_t dim) {
  KAWARA_CHECK(index && extent && index.type() == extent.type() && index.type().elem == Elem::I64,
               "a checked index");
  const Type type = index.type();
  return make(type, Within{std::move(index), std::move(extent), tensor, dim});
}

Expr fma(Expr a, Expr b, Expr c) {
  KAWARA_CHECK(a && b && c, "fma");
  const Type type = a.type();
  KAWARA_CHECK(
      type == b.type() && type == c.type() && is_computed(type.elem) && is_float(type.elem),
      "fma of " + to_string(type) + ", " + to_string(b.type()) + ", " + to_string(c.type()));
  return make(type, Fma{std::move(a), std::move(b), std::move(c)});
}

Expr instruction(std::string name, std::vector<Expr> args) {
  KAWARA_CHECK(!args.empty(), name + " without an accumulator");
  for (const Expr& e : args)
    KAWARA_CHECK(e, name);
  const Type type = args.back().type();
  return make(type, Instruction{std::move(name), std::move(args)});
}

Expr combine(ReduceOp op, Expr old, Expr value) {
  return op == ReduceOp::None ? value : binary(operation_of(op), std::move(old), std::move(value));
}

Expr identity_of(ReduceOp op, Type type) {
  KAWARA_CHECK(op != ReduceOp::None, "an assignment has no neutral element");
  switch (op) {
  case ReduceOp::Prod:
    return literal_of(type, 1, 1.0);
  case ReduceOp::Max:
    return literal_of(type, lowest_of(type.elem), -INFINITY);
  case ReduceOp::Min:
    return literal_of(type, highest_of(type.elem), INFINITY);
  default:
    return zero_of(type);
  }
}

std::optional<int64_t> constant_of(const Expr& e) {
  const auto* lit = e ? as<IntLit>(e) : nullptr;
  return lit != nullptr ? std::optional(lit->value) : std::nullopt;
}

} // namespace kawara::scalar
