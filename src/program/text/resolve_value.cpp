#include "program/text/resolver.h"

#include "support/check.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace kawara::program {

using ast::Kind;
using scalar::BinaryOp;
using scalar::Elem;

namespace {

Value weak_integer(int64_t v, Span where) { return {scalar::int_lit(v), Weak::Integer, 1, where}; }

Value weak_float(double v, Span where) {
  return {scalar::float_lit(v, {Elem::F64, 1}), Weak::Float, 1, where};
}

/// Of `a * (b + 1)` what stands next to an operator on the right: `b + 1`; on the left: `a`.
Span operand_beside(const ast::Expr& e, bool is_right) {
  const bool is_binary = e.kind == Kind::Binary;
  if (is_binary && e.args[0].where.begin == e.where.begin)
    return operand_beside(e.args[is_right ? 1 : 0], is_right);
  return is_binary ? Span{e.args[0].where.begin, e.args[1].where.end} : e.where;
}

constexpr uint64_t kTwoTo63 = uint64_t(1) << 63;

} // namespace

// Sharing makes small texts like silu(silu(...)) stand for huge expressions; every later stage
// walks them as trees.
Value Resolver::limited(Value v) {
  if (!v || v.size <= kMaxSize)
    return v;
  report_.error(code::kTooLarge, v.where,
                fmt::format("this expression has more than {} operations", kMaxSize), "",
                {{"compute a part first", "in a temp"}});
  return {};
}

Value Resolver::value(const ast::Expr& e) {
  switch (e.kind) {
  case Kind::Bad:
    return {};
  case Kind::Integer:
    if (e.integer >= kTwoTo63) {
      report_.error(code::kNumber, e.where, fmt::format("{} is too large", e.integer), "", {},
                    {"integers go up to 9223372036854775807"});
      return {};
    }
    return weak_integer(int64_t(e.integer), e.where);
  case Kind::Real:
    return weak_float(e.real, e.where);
  case Kind::Name:
    return value_name(e);
  case Kind::Index:
    return value_load(e);
  case Kind::Call:
    return limited(call(e));
  case Kind::Negate: {
    if (e.args[0].kind == Kind::Integer && e.args[0].integer == kTwoTo63)
      return weak_integer(std::numeric_limits<int64_t>::min(), e.where);
    const Value arg = value(e.args[0]);
    return arg ? negated(arg, e.where) : Value{};
  }
  case Kind::Not: {
    const Value arg = truth(e.args[0]);
    if (!arg)
      return {};
    return {scalar::unary(scalar::UnaryOp::Not, arg.expr), Weak::No, arg.size + 1, e.where};
  }
  case Kind::Binary:
    return limited(value_binary(e));
  case Kind::Compare:
    return limited(value_compare(e));
  case Kind::Choice:
    return limited(select_of(e.args[0], e.args[1], e.args[2], e.where));
  case Kind::Tuple:
  case Kind::Binder:
    report_.error(code::kReduction, e.where, fmt::format("`{}` is not a value", text_of(e.where)),
                  "", {{"indices of a reduction come first", "sum((i, j), A[i, j])"}});
    return {};
  }
  KAWARA_CHECK(false, "unknown kind of expression");
}

Value Resolver::value_name(const ast::Expr& e) {
  if (const auto loop = find_loop(e.name))
    return {scalar::iter(*loop), Weak::Integer, 1, e.where};
  if (const Local* local = find_local(e.name)) {
    Value v = local->value;
    v.where = e.where;
    return v;
  }
  if (const Symbol* symbol = find(e.name)) {
    if (symbol->kind == SymbolKind::Param)
      return {scalar::param(symbol->index), Weak::Integer, 1, e.where};
    if (symbol->kind == SymbolKind::Function) {
      report_.error(code::kNotATensor, e.where, fmt::format("`{}` is a function", e.name), "",
                    {{"call it", fmt::format("{}(x)", e.name)}});
      return {};
    }
    return value_load(e);
  }
  if (e.name == "true" || e.name == "false")
    return {scalar::int_lit(e.name == "true", scalar::kBool), Weak::No, 1, e.where};
  if (e.name == "inf")
    return weak_float(std::numeric_limits<double>::infinity(), e.where);
  if (e.name == "nan")
    return weak_float(std::nan(""), e.where);
  unknown_name(e.name, e.where);
  return {};
}

Value Resolver::value_load(const ast::Expr& e) {
  const Symbol* symbol = find(e.name);
  if (find_loop(e.name) || find_local(e.name) || (symbol && symbol->kind != SymbolKind::Tensor)) {
    const char* what = find_loop(e.name)                      ? "a loop"
                       : find_local(e.name)                   ? "a value"
                       : symbol->kind == SymbolKind::Function ? "a function"
                                                              : "a parameter";
    report_.error(code::kNotATensor, e.name_where,
                  fmt::format("`{}` is {}, it has no elements", e.name, what));
    return {};
  }
  if (!symbol) {
    unknown_name(e.name, e.name_where, e.args.size());
    return {};
  }
  if (symbol->is_poisoned)
    return {};
  auto index = indices(e, symbol->index);
  return index ? load_of(symbol->index, std::move(*index), e.where) : Value{};
}

Value Resolver::load_of(uint32_t tensor, std::vector<Expr> index, Span where) {
  const Elem elem = program_.tensors[tensor].elem;
  Value v;
  v.where = where;
  v.size = uint32_t(2 + index.size());
  v.expr = scalar::load(tensor, std::move(index), {elem, 1});
  if (elem != Elem::Bool)
    v.expr = scalar::cast(v.expr, {scalar::compute_type(elem), 1});
  return v;
}

Value Resolver::value_binary(const ast::Expr& e) {
  if (e.op == BinaryOp::And || e.op == BinaryOp::Or) {
    const Value a = truth(e.args[0]), b = truth(e.args[1]);
    if (!a || !b)
      return {};
    return {scalar::binary(e.op, a.expr, b.expr), Weak::No, a.size + b.size + 1, e.where};
  }
  const Value a = value(e.args[0]), b = value(e.args[1]);
  if (!a || !b)
    return {};
  const bool is_float = scalar::is_float(meet(a, b).elem);
  if (e.op == BinaryOp::Div && !is_float) {
    const std::string left = text_of(e.args[0].where), right = text_of(e.args[1].where);
    report_.error(code::kIntegerDivision, e.where, "`/` between two integers", "",
                  {{"round down", fmt::format("{} // {}", left, right)},
                   {"or compute a fraction", fmt::format("f32({}) / {}", left, right)}});
    return {};
  }
  if (e.op >= BinaryOp::BitAnd && e.op <= BinaryOp::Shr && is_float) {
    Help help{"convert it first", fmt::format("i32({})", text_of(e.args[0].where))};
    if (e.op == BinaryOp::BitXor) // other languages bind it more closely than `*`
      help = {"a power is", fmt::format("pow({}, {})", text_of(operand_beside(e.args[0], true)),
                                        text_of(operand_beside(e.args[1], false)))};
    report_.error(code::kFloatBits, e.where,
                  fmt::format("`{}` needs integers, this is a float", scalar::name_of(e.op)), "",
                  {help});
    return {};
  }
  const bool is_floor = e.op == BinaryOp::FloorDiv || e.op == BinaryOp::Mod;
  if (is_floor && is_float) {
    report_.error(code::kFloatFloorDiv, e.where,
                  fmt::format("`{}` needs integers, this is a float", scalar::name_of(e.op)), "",
                  {{"write", fmt::format("floor({} / {})", text_of(e.args[0].where),
                                         text_of(e.args[1].where))}});
    return {};
  }
  if (is_floor && literal_of(b) == 0) {
    report_.error(code::kDivisor, e.args[1].where, fmt::format("`{}` by 0", scalar::name_of(e.op)),
                  "", {{"divide by something else", ""}});
    return {};
  }
  return arithmetic(e.op, a, b, e.where);
}

Value Resolver::compare(BinaryOp op, const Value& a, const Value& b, Span where) {
  Value v;
  v.where = where;
  v.size = a.size + b.size + 3;
  const bool is_equality = op == BinaryOp::Eq || op == BinaryOp::Ne;
  if (a.is_bool() && b.is_bool() && is_equality) {
    v.expr = scalar::binary(op, a.expr, b.expr);
    return v;
  }
  const Elem elem = meet(a, b).elem;
  v.expr = scalar::binary(op, converted(a, elem), converted(b, elem));
  return v;
}

Value Resolver::value_compare(const ast::Expr& e) {
  std::vector<Value> args;
  bool is_bad = false;
  for (const ast::Expr& arg : e.args) {
    args.push_back(value(arg));
    is_bad |= !args.back();
  }
  if (is_bad)
    return {};
  Value result = compare(e.compares[0], args[0], args[1], e.where);
  for (size_t i = 1; i < e.compares.size(); ++i) {
    const Value next = compare(e.compares[i], args[i], args[i + 1], e.where);
    result.expr = scalar::binary(BinaryOp::And, result.expr, next.expr);
    result.size = std::min(result.size + next.size + 1, kMaxSize + 1);
  }
  return result;
}

/// A condition inside a value: comparisons, `and or not`, elements of bool tensors.
Value Resolver::truth(const ast::Expr& e) {
  Value v = value(e);
  if (!v || v.is_bool())
    return v;
  report_.error(code::kConditionMixed, e.where,
                fmt::format("`{}` is a number, not a condition", text_of(e.where)), "",
                {{"compare it", fmt::format("{} != 0", text_of(e.where))}});
  return {};
}

} // namespace kawara::program
