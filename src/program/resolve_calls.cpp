#include "program/resolver.h"

#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace kawara::program {

using scalar::BinaryOp;
using scalar::Elem;
using scalar::UnaryOp;

namespace {

constexpr std::array<UnaryOp, 16> kFunctions = {
    UnaryOp::Abs,   UnaryOp::Exp,  UnaryOp::Log,  UnaryOp::Sqrt,    UnaryOp::Rsqrt, UnaryOp::Tanh,
    UnaryOp::Erf,   UnaryOp::Sin,  UnaryOp::Cos,  UnaryOp::Sigmoid, UnaryOp::Floor, UnaryOp::Ceil,
    UnaryOp::Round, UnaryOp::Silu, UnaryOp::Gelu, UnaryOp::GeluTanh};

std::optional<UnaryOp> unary_function(std::string_view name) {
  for (UnaryOp op : kFunctions)
    if (name == scalar::name_of(op))
      return op;
  return std::nullopt;
}

bool is_function(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kOthers = {"min", "max", "pow", "relu"};
  return unary_function(name) || std::find(kOthers.begin(), kOthers.end(), name) != kOthers.end();
}

Value applied(UnaryOp op, Value v, Span where) {
  v.expr = scalar::unary(op, v.expr);
  v.size += 1;
  v.where = where;
  return v;
}

std::optional<std::string> function_meant(std::string_view name) {
  static const std::pair<const char*, const char*> kOthers[] = {
      {"fabs", "abs"},   {"fmax", "max"},     {"fmin", "min"},     {"expf", "exp"},
      {"sqrtf", "sqrt"}, {"where", "select"}, {"ln", "log"},       {"float", "f32"},
      {"int", "i32"},    {"double", "f64"},   {"product", "prod"}, {"power", "pow"}};
  for (const auto& [other, ours] : kOthers)
    if (name == other)
      return ours;
  std::vector<std::string> all = {"pow", "min",  "max",    "select", "relu",
                                  "sum", "prod", "argmax", "argmin"};
  for (UnaryOp op : kFunctions)
    all.emplace_back(scalar::name_of(op));
  return closest(name, all);
}

} // namespace

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
  v.weak = Weak::No;
  v.where = e.where;
  v.size += 2;
  if (elem == Elem::Bool) {
    if (!v.is_bool())
      v.expr = scalar::binary(BinaryOp::Ne, v.expr, scalar::zero_of(v.expr.type()));
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

Value Resolver::select_call(const ast::Expr& e) {
  if (!takes(e, 3))
    return {};
  const Value cond = truth(e.args[0]), a = value(e.args[1]), b = value(e.args[2]);
  if (!cond || !a || !b)
    return {};
  Value v;
  v.where = e.where;
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

Value Resolver::call(const ast::Expr& e) {
  if (const auto elem = scalar::elem_from_name(e.name))
    return cast_call(e, *elem);
  if (e.name == "select")
    return select_call(e);
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

void Resolver::unknown_function(const ast::Expr& e) {
  std::vector<Help> help;
  if (is_bound(e.name))
    help.push_back({"elements of a tensor are written", fmt::format("{}[i]", e.name)});
  else if (const auto meant = report_.is_full() ? std::nullopt : function_meant(e.name))
    help.push_back({"did you mean", *meant});
  report_.error(code::kUnknownFunction, e.name_where, fmt::format("unknown function `{}`", e.name),
                "", help);
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
