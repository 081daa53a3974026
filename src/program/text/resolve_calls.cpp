#include "program/text/resolver.h"

#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace kawara::program {

using scalar::BinaryOp;
using scalar::Elem;
using scalar::UnaryOp;

namespace {

constexpr std::array<UnaryOp, 18> kFunctions = {
    UnaryOp::Exp2,  UnaryOp::Log2, UnaryOp::Abs,   UnaryOp::Exp,  UnaryOp::Log,  UnaryOp::Sqrt,
    UnaryOp::Rsqrt, UnaryOp::Tanh, UnaryOp::Erf,   UnaryOp::Sin,  UnaryOp::Cos,  UnaryOp::Sigmoid,
    UnaryOp::Floor, UnaryOp::Ceil, UnaryOp::Round, UnaryOp::Silu, UnaryOp::Gelu, UnaryOp::GeluTanh};

std::optional<UnaryOp> unary_function(std::string_view name) {
  for (UnaryOp op : kFunctions)
    if (name == scalar::name_of(op))
      return op;
  return std::nullopt;
}

bool is_function(std::string_view name) {
  static constexpr std::array<std::string_view, 7> kOthers = {"min",   "max", "pow", "atan2",
                                                              "clamp", "fma", "relu"};
  return unary_function(name) || std::find(kOthers.begin(), kOthers.end(), name) != kOthers.end();
}

Value applied(UnaryOp op, Value v, Span where) {
  v.expr = scalar::unary(op, v.expr);
  v.size += 1;
  v.where = where;
  return v;
}

} // namespace

std::vector<std::string> all_functions() {
  std::vector<std::string> all = {"pow", "min", "max",  "select", "relu",   "clamp",
                                  "fma", "sum", "prod", "argmax", "argmin", "atan2"};
  for (UnaryOp op : kFunctions)
    all.emplace_back(scalar::name_of(op));
  return all;
}

bool Resolver::takes(const ast::Expr& e, size_t count) {
  if (e.args.size() == count)
    return true;
  report_.error(code::kArguments, e.where,
                fmt::format("`{}` takes {} argument{}, {} given", e.name, count,
                            count == 1 ? "" : "s",
                            e.args.empty() ? "none" : std::to_string(e.args.size())));
  return false;
}

bool Resolver::takes_several(const ast::Expr& e) {
  if (e.args.size() >= 2 && e.args.size() <= kMaxValues)
    return true;
  report_.error(code::kArguments, e.where,
                fmt::format("`{}` takes 2 to {} arguments, {} given", e.name, kMaxValues,
                            e.args.empty() ? "none" : std::to_string(e.args.size())),
                "", {{"nest the calls", fmt::format("{0}({0}(x, y), z)", e.name)}});
  return false;
}

/// Explicit conversion `f32(x)`. Narrow types round or wrap and are computed with as f32 or i32.
Value Resolver::cast_call(const ast::Expr& e, Elem elem) {
  if (!takes(e, 1))
    return {};
  Value v = value(e.args[0]);
  if (!v)
    return {};
  const auto literal = literal_of(v);
  v.weak = Weak::No;
  v.where = e.where;
  v.size += 2;
  if (elem == Elem::Bool) {
    if (!v.is_bool())
      v.expr = scalar::binary(BinaryOp::Ne, v.expr, scalar::zero_of(v.expr.type()));
    return v;
  }
  if (elem == Elem::U64 && literal) {
    v.expr = scalar::int_lit(*literal, {elem, 1});
    return v;
  }
  // The value of an f16 load is already an f16 number: casting it back to f16 changes nothing.
  const Elem computed = scalar::compute_type(elem);
  const auto* widened = scalar::as<scalar::Cast>(v.expr);
  if (computed != elem && widened && widened->arg.type().elem == elem && v.elem() == computed)
    return v;
  v.expr = scalar::cast(scalar::cast(v.expr, {elem, 1}), {computed, 1});
  return v;
}

Value Resolver::select_of(const ast::Expr& condition, const ast::Expr& then,
                          const ast::Expr& otherwise, Span where) {
  const Value cond = truth(condition), a = value(then), b = value(otherwise);
  if (!cond || !a || !b)
    return {};
  Value v;
  v.where = where;
  v.size = cond.size + a.size + b.size + 3;
  if (a.is_bool() && b.is_bool()) {
    v.expr = scalar::select(cond.expr, a.expr, b.expr);
    return v;
  }
  const Meeting m = meet(a, b);
  v.weak = m.weak;
  v.expr = scalar::select(cond.expr, converted(a, m.elem), converted(b, m.elem));
  return v;
}

/// a * b + c with one rounding, in the type that the three meet in.
Value Resolver::fma_of(const ast::Expr& e, const std::vector<Value>& args) {
  const Value a = as_float(args[0]), b = as_float(args[1]), c = as_float(args[2]);
  Value product = arithmetic(BinaryOp::Mul, a, b, e.where);
  const Meeting m = meet(product, c);
  if (m.weak != Weak::No) { // made of literals and loops: it has no type to be rounded in yet
    product = arithmetic(BinaryOp::Add, product, c, e.where);
    return product;
  }
  Value v;
  v.where = e.where;
  v.size = product.size + c.size + 1;
  v.expr = scalar::fma(converted(a, m.elem), converted(b, m.elem), converted(c, m.elem));
  return v;
}

bool Resolver::is_known_function(std::string_view name) {
  return is_function(name) || name == "select" || name == "sum" || name == "prod" ||
         name == "argmax" || name == "argmin" || scalar::elem_from_name(name);
}

Value Resolver::call(const ast::Expr& e) {
  if (const auto elem = scalar::elem_from_name(e.name))
    return cast_call(e, *elem);
  if (e.name == "select")
    return takes(e, 3) ? select_of(e.args[0], e.args[1], e.args[2], e.where) : Value{};
  if (find_function(e.name) != nullptr)
    return function_value(e);
  if (is_reduction(e)) {
    Reduction reduction;
    const bool is_open = open_reduction(e, reduction);
    const Value v = is_open ? hidden_reduction(reduction) : Value{};
    close_reduction(reduction);
    return v;
  }
  if (!is_function(e.name)) {
    unknown_function(e);
    return {};
  }
  std::vector<Value> args;
  bool is_bad = false;
  for (const ast::Expr& arg : e.args) {
    args.push_back(value(arg));
    is_bad |= !args.back();
  }
  return is_bad ? Value{} : function(e, std::move(args));
}

Value Resolver::function(const ast::Expr& e, std::vector<Value> args) {
  if (const auto op = unary_function(e.name)) {
    if (!takes(e, 1))
      return {};
    const bool is_rounding = op == UnaryOp::Floor || op == UnaryOp::Ceil || op == UnaryOp::Round;
    if (is_rounding && !args[0].is_float())
      return args[0];
    if (op == UnaryOp::Abs && args[0].is_bool())
      return arithmetic(BinaryOp::Add, args[0], {scalar::int_lit(0), Weak::Integer, 1, {}},
                        e.where);
    return applied(*op, op == UnaryOp::Abs ? args[0] : as_float(args[0]), e.where);
  }
  if (e.name == "min" || e.name == "max") {
    if (!takes_several(e))
      return {};
    Value v = args[0];
    for (size_t i = 1; i < args.size() && v.size <= kMaxSize; ++i)
      v = arithmetic(e.name == "min" ? BinaryOp::Min : BinaryOp::Max, v, args[i], e.where);
    return v;
  }
  if (e.name == "atan2")
    return takes(e, 2) ? arithmetic(BinaryOp::Atan2, as_float(args[0]), as_float(args[1]), e.where)
                       : Value{};
  if (e.name == "fma")
    return takes(e, 3) ? fma_of(e, args) : Value{};
  if (e.name == "clamp") // means what it is written out as
    return takes(e, 3)
               ? arithmetic(BinaryOp::Min, arithmetic(BinaryOp::Max, args[0], args[1], e.where),
                            args[2], e.where)
               : Value{};
  if (e.name == "pow") {
    if (!takes(e, 2))
      return {};
    // A weak exponent takes the precision of the base.
    return arithmetic(BinaryOp::Pow, as_float(args[0]), as_float(args[1]), e.where);
  }
  // relu means what it is written out as.
  const Value zero{scalar::int_lit(0), Weak::Integer, 1, {}};
  return takes(e, 1) ? arithmetic(BinaryOp::Max, args[0], zero, e.where) : Value{};
}

} // namespace kawara::program
