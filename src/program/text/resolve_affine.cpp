#include "program/text/resolver.h"

#include "support/check.h"

#include <fmt/format.h>

#include <limits>

namespace kawara::program {

using ast::Kind;
using scalar::BinaryOp;

namespace {

// Sums of products of such numbers stay far from the ends of i64.
constexpr int64_t kMaxIndex = 1'000'000'000'000;

} // namespace

Expr Resolver::not_affine(const ast::Expr& e, Place place, const std::string& why,
                          std::vector<Help> help) {
  if (place.is_condition && (e.kind == Kind::Index || e.kind == Kind::Name)) {
    report_.error(
        code::kDataCondition, e.where, "the condition of an `if` depends on data", "",
        {{"choose between values instead",
          fmt::format("C[i] = value if {} > 0 else C[i]", text_of(e.where))}},
        {fmt::format("`{}` is only known when the program runs; which statements run must "
                     "follow from loops and parameters alone.",
                     text_of(e.where))});
    return {};
  }
  report_.error(code::kNotAffine, e.where,
                fmt::format("`{}` cannot be part of {}", text_of(e.where), place.what), "",
                std::move(help),
                {why, "Allowed are loops and parameters with +, -, * by a constant, // and % by a "
                      "positive constant, min, max and clamp."});
  return {};
}

Expr Resolver::checked_literal(int64_t value, Span where) {
  if (value >= -kMaxIndex && value <= kMaxIndex)
    return scalar::int_lit(value);
  report_.error(code::kNumber, where, fmt::format("{} is too large for an index", value), "", {},
                {fmt::format("Numbers in indices, bounds and conditions go up to {}.", kMaxIndex)});
  return {};
}

Expr Resolver::affine(const ast::Expr& e, Place place) {
  switch (e.kind) {
  case Kind::Bad:
    return {};
  case Kind::Integer:
    return checked_literal(int64_t(std::min<uint64_t>(e.integer, uint64_t(kMaxIndex) + 1)),
                           e.where);
  case Kind::Name:
    return affine_name(e, place);
  case Kind::Call:
    return affine_call(e, place);
  case Kind::Binary:
    return affine_binary(e, place);
  case Kind::Negate: {
    const Expr arg = affine(e.args[0], place);
    if (!arg)
      return {};
    const auto literal = scalar::constant_of(arg);
    return literal ? scalar::int_lit(-*literal) : scalar::unary(scalar::UnaryOp::Neg, arg);
  }
  case Kind::Index: {
    const Symbol* symbol = find(e.name);
    if (!symbol || symbol->kind != SymbolKind::Tensor) {
      symbol ? void(value_load(e)) : unknown_name(e.name, e.name_where, e.args.size());
      return {};
    }
    if (place.takes_data)
      return data_index(e, place);
    return not_affine(e, place, "It depends on data, which is only known when the program runs.");
  }
  case Kind::Real:
    return not_affine(e, place, "It is not an integer.");
  case Kind::Compare:
  case Kind::Not:
    return not_affine(e, place, "It is a condition, not a number.");
  case Kind::Choice:
    return not_affine(e, place, "It is one of two, by a condition.");
  case Kind::Tuple:
  case Kind::Binder:
    return not_affine(e, place, "It is not a number.");
  }
  KAWARA_CHECK(false, "unknown kind of expression");
}

Expr Resolver::affine_name(const ast::Expr& e, Place place) {
  if (const auto loop = find_loop(e.name))
    return scalar::iter(*loop);
  if (const Local* local = find_local(e.name)) {
    const bool is_data = local->affine && scalar::reads_data(local->affine);
    if ((local->affine && (!is_data || place.takes_data)) || !local->value)
      return local->affine;
    return not_affine(e, place,
                      fmt::format("Its value on {} {}.", report_.line_of(local->where),
                                  is_data ? "depends on data" : "is not affine"));
  }
  if (const Symbol* symbol = find(e.name)) {
    if (symbol->kind == SymbolKind::Param)
      return scalar::param(symbol->index);
    if (symbol->kind == SymbolKind::Function)
      return not_affine(e, place, "It is a function.");
    if (place.takes_data)
      return data_index(e, place);
    return not_affine(e, place, "It depends on data, which is only known when the program runs.");
  }
  if (e.name == "true" || e.name == "false" || e.name == "inf" || e.name == "nan")
    return not_affine(e, place, "It is not an integer.");
  unknown_name(e.name, e.where);
  return {};
}

Expr Resolver::affine_call(const ast::Expr& e, Place place) {
  if (find_function(e.name) != nullptr)
    return function_affine(e, place);
  if (e.name != "min" && e.name != "max" && place.takes_data && scalar::elem_from_name(e.name))
    return data_index(e, place);
  const bool is_clamp = e.name == "clamp"; // min(max(x, low), high)
  if (e.name != "min" && e.name != "max" && !is_clamp)
    return not_affine(e, place, fmt::format("`{}` is not affine.", e.name));
  if (is_clamp ? !takes(e, 3) : !takes_several(e))
    return {};
  Expr result;
  bool is_bad = false;
  for (size_t k = 0; k < e.args.size(); ++k) {
    const Expr next = affine(e.args[k], place);
    is_bad |= !next;
    if (is_bad)
      continue;
    const auto a = scalar::constant_of(result), b = scalar::constant_of(next);
    const bool is_min = is_clamp ? k == 2 : e.name == "min";
    const BinaryOp op = is_min ? BinaryOp::Min : BinaryOp::Max;
    if (!result)
      result = next;
    else
      result = a && b ? scalar::int_lit(*fold(op, *a, *b)) : scalar::binary(op, result, next);
  }
  return is_bad ? Expr{} : result;
}

Expr Resolver::affine_binary(const ast::Expr& e, Place place) {
  if (e.op == BinaryOp::And || e.op == BinaryOp::Or)
    return not_affine(e, place, "It is a condition, not a number.");
  if (e.op == BinaryOp::Div)
    return not_affine(e, place, "`/` gives a fraction.", {{"round down with", "//"}});
  if (e.op >= BinaryOp::BitAnd && e.op <= BinaryOp::Shr)
    return not_affine(e, place, "It is made of bits.");
  const Expr lhs = affine(e.args[0], place), rhs = affine(e.args[1], place);
  if (!lhs || !rhs)
    return {};
  const auto a = scalar::constant_of(lhs), b = scalar::constant_of(rhs);
  const bool reads = scalar::reads_data(lhs) || scalar::reads_data(rhs);
  if ((e.op == BinaryOp::FloorDiv || e.op == BinaryOp::Mod) && (b ? *b <= 0 : !reads)) {
    const std::string_view op = scalar::name_of(e.op);
    std::vector<Help> help{
        {"divide by a positive constant, for example", fmt::format("i {} 2", op)}};
    if (!b && e.op == BinaryOp::Mod)
      if (const auto cases = wrapped_cases(e.args[0], e.args[1]))
        help.push_back({"or, where it wraps once, in two cases", *cases});
    report_.error(
        code::kDivisor, e.args[1].where,
        b ? fmt::format("`{}` by {}, which is not positive", op, *b)
          : fmt::format("`{}` by `{}`, which is not a constant", op, text_of(e.args[1].where)),
        "", std::move(help));
    return {};
  }
  if (e.op == BinaryOp::Mul && !a && !b && !reads)
    return not_affine(e, place, "It multiplies two values that are not constants.",
                      {{"", "use a second loop, or an array of higher rank"}});
  if (a && b) {
    const auto folded = fold(e.op, *a, *b);
    return checked_literal(folded.value_or(std::numeric_limits<int64_t>::max()), e.where);
  }
  return scalar::binary(e.op, lhs, rhs);
}

Expr Resolver::condition(const ast::Expr& e) {
  const Place place{"a condition", true};
  switch (e.kind) {
  case Kind::Bad:
    return {};
  case Kind::Compare: {
    Expr result, left = affine(e.args[0], place);
    bool is_bad = !left;
    for (size_t i = 0; i < e.compares.size(); ++i) {
      const Expr right = affine(e.args[i + 1], place);
      is_bad |= !right;
      if (is_bad)
        continue;
      const Expr one = scalar::binary(e.compares[i], left, right);
      result = result ? scalar::binary(BinaryOp::And, result, one) : one;
      left = right;
    }
    return is_bad ? Expr{} : result;
  }
  case Kind::Not: {
    const Expr arg = condition(e.args[0]);
    return arg ? scalar::unary(scalar::UnaryOp::Not, arg) : Expr{};
  }
  case Kind::Binary:
    if (e.op == BinaryOp::And || e.op == BinaryOp::Or) {
      const Expr lhs = condition(e.args[0]), rhs = condition(e.args[1]);
      return lhs && rhs ? scalar::binary(e.op, lhs, rhs) : Expr{};
    }
    break;
  case Kind::Name:
    if (e.name == "true" || e.name == "false")
      return scalar::int_lit(e.name == "true", scalar::kBool);
    break;
  default:
    break;
  }
  if (const Expr number = affine(e, place))
    report_.error(code::kConditionMixed, e.where,
                  fmt::format("`{}` is a number, not a condition", text_of(e.where)), "",
                  {{"compare it", fmt::format("{} != 0", text_of(e.where))}});
  return {};
}

/// The index expressions of `A[i, j]`; empty after an error.
std::optional<std::vector<Expr>> Resolver::indices(const ast::Expr& access, uint32_t tensor) {
  const Tensor& t = program_.tensors[tensor];
  if (access.args.size() != t.shape.size()) {
    std::string sizes, indices;
    for (const Expr& size : t.shape)
      sizes += (sizes.empty() ? "" : ", ") + to_text(size);
    for (size_t d = 0; d < t.shape.size(); ++d)
      indices += (d == 0 ? "" : ", ") +
                 (t.shape.size() <= 4 ? std::string(1, "ijkl"[d]) : fmt::format("i{}", d));
    std::vector<Help> help;
    if (access.args.empty())
      help.push_back(
          {"an index for each dimension makes the loops", fmt::format("{}[{}]", t.name, indices)});
    report_.error(code::kRank, access.where,
                  fmt::format("`{}` has {} dimension{}, {} given", t.name, t.shape.size(),
                              t.shape.size() == 1 ? "" : "s",
                              access.args.empty() ? "none" : std::to_string(access.args.size())),
                  "", std::move(help),
                  {fmt::format("It is declared as {}: {}{} on {}.", t.name, scalar::name_of(t.elem),
                               sizes.empty() ? "" : "[" + sizes + "]", report_.line_of(t.where))});
    return std::nullopt;
  }
  std::vector<Expr> result;
  bool is_bad = false;
  for (size_t d = 0; d < access.args.size(); ++d) {
    Expr e = affine(access.args[d], {"an index", false, true});
    is_bad |= !e;
    if (e && scalar::reads_data(e))
      e = scalar::within(e, t.shape[d], tensor, uint32_t(d));
    result.push_back(std::move(e));
  }
  return is_bad ? std::nullopt : std::optional(std::move(result));
}

} // namespace kawara::program
