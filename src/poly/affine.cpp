#include "poly/affine.h"

#include "poly/comparison.h"
#include "poly/isl/coalesced.h"
#include "poly/isl/dimensions.h"
#include "poly/isl/pieces.h"
#include "poly/isl/text.h"
#include "support/check.h"

namespace kawara::poly {

using scalar::as;
using scalar::BinaryOp;
using scalar::Expr;
using scalar::UnaryOp;

namespace {

int64_t divisor_of(const Expr& e) {
  const auto value = scalar::constant_of(e);
  KAWARA_CHECK(value && *value > 0, "a positive constant divisor");
  return *value;
}

using Plain = std::optional<isl::aff>;

Plain plain_binary(const scalar::Binary& b, const isl::space& domain,
                   const std::vector<program::Param>& params) {
  const bool has_factor = b.op == BinaryOp::Mul && scalar::constant_of(b.lhs);
  const auto lhs = plain_function(has_factor ? b.rhs : b.lhs, domain, params);
  if (!lhs)
    return std::nullopt;
  const auto constant = [&] {
    return static_cast<long>(*scalar::constant_of(has_factor ? b.lhs : b.rhs));
  };
  switch (b.op) {
  case BinaryOp::Mul:
    return lhs->scale(constant());
  case BinaryOp::FloorDiv:
    return lhs->scale_down(static_cast<long>(divisor_of(b.rhs))).floor();
  case BinaryOp::Mod:
    return lhs->mod(static_cast<long>(divisor_of(b.rhs)));
  case BinaryOp::Add:
  case BinaryOp::Sub: {
    const auto rhs = plain_function(b.rhs, domain, params);
    if (!rhs)
      return std::nullopt;
    return b.op == BinaryOp::Add ? lhs->add(*rhs) : lhs->sub(*rhs);
  }
  default:
    return std::nullopt;
  }
}

isl::pw_aff product(const scalar::Binary& b, const isl::set& domain,
                    const std::vector<program::Param>& params) {
  if (const auto c = scalar::constant_of(b.lhs))
    return pw_aff_from_expr(b.rhs, domain, params).scale(static_cast<long>(*c));
  const auto c = scalar::constant_of(b.rhs);
  KAWARA_CHECK(c, "a product with a constant");
  return pw_aff_from_expr(b.lhs, domain, params).scale(static_cast<long>(*c));
}

isl::pw_aff binary_function(const scalar::Binary& b, const isl::set& domain,
                            const std::vector<program::Param>& params) {
  const auto lhs = [&] { return pw_aff_from_expr(b.lhs, domain, params); };
  const auto rhs = [&] { return pw_aff_from_expr(b.rhs, domain, params); };
  switch (b.op) {
  case BinaryOp::Add:
    return lhs().add(rhs());
  case BinaryOp::Sub:
    return lhs().sub(rhs());
  case BinaryOp::Mul:
    return product(b, domain, params);
  case BinaryOp::FloorDiv:
    return lhs().scale_down(static_cast<long>(divisor_of(b.rhs))).floor();
  case BinaryOp::Mod:
    return lhs().mod(static_cast<long>(divisor_of(b.rhs)));
  case BinaryOp::Min:
    return lhs().min(rhs());
  case BinaryOp::Max:
    return lhs().max(rhs());
  default:
    KAWARA_CHECK(false, "a quasi-affine operator");
  }
}

isl::set comparison(const scalar::Binary& b, const isl::set& domain,
                    const std::vector<program::Param>& params) {
  const isl::pw_aff lhs = pw_aff_from_expr(b.lhs, domain, params);
  const isl::pw_aff rhs = pw_aff_from_expr(b.rhs, domain, params);
  if (b.op == BinaryOp::Ne)
    return lhs.ne_set(rhs);
  const auto points = compared(b.op, lhs, rhs);
  KAWARA_CHECK(points, "a comparison");
  return *points;
}

uint32_t parameter_index(const std::string& name, const std::vector<program::Param>& params) {
  for (uint32_t k = 0; k < params.size(); ++k)
    if (params[k].name == name)
      return k;
  KAWARA_CHECK(false, "a declared parameter, not " + name);
}

Expr expr_from_aff(const isl::aff& aff, const std::vector<program::Param>& params) {
  const AffineParts parts = parts_of(aff);
  Expr sum = scalar::int_lit(parts.constant);
  for (uint32_t k = 0; k < parts.dimensions.size(); ++k)
    if (parts.dimensions[k] != 0)
      sum = sum + scalar::iter(k) * scalar::int_lit(parts.dimensions[k]);
  for (const auto& [name, coefficient] : parts.parameters)
    sum = sum + scalar::param(parameter_index(name, params)) * scalar::int_lit(coefficient);
  for (const auto& [division, coefficient] : parts.divisions)
    sum = sum + expr_from_aff(division, params) * scalar::int_lit(coefficient);
  if (parts.denominator != 1)
    sum = scalar::binary(BinaryOp::FloorDiv, sum, scalar::int_lit(parts.denominator));
  return scalar::simplify(sum);
}

} // namespace

std::optional<isl::aff> plain_function(const Expr& e, const isl::space& domain,
                                       const std::vector<program::Param>& params) {
  if (const auto* lit = as<scalar::IntLit>(e))
    return isl::aff::zero_on_domain(domain).add_constant(static_cast<long>(lit->value));
  if (const auto* it = as<scalar::Iter>(e))
    return dimension_function(domain, it->index);
  if (const auto* p = as<scalar::Param>(e))
    return parameter_function(domain, params[p->index].name);
  if (const auto* u = as<scalar::Unary>(e); u && u->op == UnaryOp::Neg) {
    const auto arg = plain_function(u->arg, domain, params);
    return arg ? Plain(arg->neg()) : std::nullopt;
  }
  if (const auto* c = as<scalar::Cast>(e))
    return plain_function(c->arg, domain, params);
  const auto* b = as<scalar::Binary>(e);
  return b ? plain_binary(*b, domain, params) : std::nullopt;
}

isl::set statement_universe(isl::ctx ctx, const std::vector<program::Param>& params,
                            const std::string& tuple, size_t iters) {
  isl::space space = isl::space::unit(ctx);
  for (const program::Param& param : params)
    space = space.add_param(param.name);
  const auto count = static_cast<unsigned>(iters);
  return isl::set::universe(tuple.empty() ? space.add_unnamed_tuple(count)
                                          : space.add_named_tuple(tuple, count));
}

isl::pw_aff pw_aff_from_expr(const Expr& e, const isl::set& domain,
                             const std::vector<program::Param>& params) {
  if (const auto plain = plain_function(e, domain.space(), params))
    return isl::pw_aff(*plain).intersect_domain(domain);
  if (const auto* p = as<scalar::Param>(e))
    return isl::pw_aff::param_on_domain(domain, isl::id(domain.ctx(), params[p->index].name));
  if (const auto* u = as<scalar::Unary>(e); u && u->op == UnaryOp::Neg)
    return pw_aff_from_expr(u->arg, domain, params).neg();
  if (const auto* c = as<scalar::Cast>(e))
    return pw_aff_from_expr(c->arg, domain, params);
  if (const auto* s = as<scalar::Select>(e)) {
    const isl::set yes = set_from_condition(s->cond, domain, params);
    return pw_aff_from_expr(s->then, yes, params)
        .union_add(pw_aff_from_expr(s->otherwise, domain.subtract(yes), params));
  }
  const auto* b = as<scalar::Binary>(e);
  KAWARA_CHECK(b, "a quasi-affine expression");
  return binary_function(*b, domain, params);
}

isl::map map_from_exprs(const std::vector<Expr>& functions, const isl::set& domain,
                        const isl::set& range, const std::vector<program::Param>& params) {
  const isl::map pairs = pairs_of(domain, range);
  if (functions.empty())
    return pairs;
  const int size = static_cast<int>(functions.size());
  isl::aff_list plain(domain.ctx(), size);
  for (const Expr& f : functions)
    if (const auto one = plain_function(f, domain.space(), params))
      plain = plain.add(*one);
  if (plain.size() == functions.size())
    return isl::multi_aff(pairs.space(), plain).as_map().intersect_domain(domain);
  isl::pw_aff_list list(domain.ctx(), size);
  for (const Expr& f : functions)
    list = list.add(pw_aff_from_expr(f, domain, params));
  return isl::multi_pw_aff(pairs.space(), list).as_map().intersect_domain(domain);
}

isl::map map_of(const std::vector<Expr>& functions, const isl::set& domain,
                const std::vector<program::Param>& params) {
  return map_from_exprs(functions, domain,
                        statement_universe(domain.ctx(), params, "", functions.size()), params);
}

isl::set set_from_condition(const Expr& e, const isl::set& domain,
                            const std::vector<program::Param>& params) {
  if (const auto* lit = as<scalar::IntLit>(e))
    return lit->value ? domain : domain.subtract(domain);
  if (const auto* u = as<scalar::Unary>(e); u && u->op == UnaryOp::Not)
    return domain.subtract(set_from_condition(u->arg, domain, params));
  const auto* b = as<scalar::Binary>(e);
  KAWARA_CHECK(b, "a quasi-affine condition");
  if (b->op == BinaryOp::And)
    return set_from_condition(b->lhs, domain, params)
        .intersect(set_from_condition(b->rhs, domain, params));
  if (b->op == BinaryOp::Or)
    return set_from_condition(b->lhs, domain, params)
        .unite(set_from_condition(b->rhs, domain, params));
  return comparison(*b, domain, params);
}

Expr condition_from_set(const isl::set& set, const std::vector<program::Param>& params) {
  const auto combined = [](BinaryOp op, const Expr& a, const Expr& b) {
    return a ? scalar::binary(op, a, b) : b;
  };
  Expr any;
  for (const std::vector<Constraint>& piece : constraints_of(set)) {
    Expr all;
    for (const auto& [function, is_equality] : piece)
      all = combined(BinaryOp::And, all,
                     scalar::binary(is_equality ? BinaryOp::Eq : BinaryOp::Ge,
                                    expr_from_aff(function, params), scalar::int_lit(0)));
    any = combined(BinaryOp::Or, any, all ? all : scalar::int_lit(1, scalar::kBool));
  }
  return scalar::simplify(any ? any : scalar::int_lit(0, scalar::kBool));
}

Expr expr_from_pw_aff(const isl::pw_aff& function, const std::vector<program::Param>& params) {
  const isl::pw_aff simple = coalesced(function);
  if (!simple.isa_aff() && simple.n_piece() != 1)
    return {};
  isl::aff only;
  simple.foreach_piece([&](const isl::set&, const isl::multi_aff& piece) { only = piece.at(0); });
  return expr_from_aff(only, params);
}

std::vector<isl::pw_aff> row_functions(const Scop& scop, const Order& order, StmtId id) {
  std::vector<isl::pw_aff> functions;
  for (const Expr& row : order.rows[id.value])
    functions.push_back(pw_aff_from_expr(row, scop[id].domain, scop.params));
  return functions;
}

std::string condition_text(const isl::set& params, const isl::set& context) {
  const isl::set simple = coalesced(coalesced(params.params()).gist(context));
  const std::string text = simple.is_null() ? "" : text_of(simple);
  const size_t open = text.find('{');
  const size_t close = text.rfind('}');
  const size_t colon = text.find(':', open);
  if (colon == std::string::npos || colon > close)
    return "";
  std::string body = text.substr(colon + 1, close - colon - 1);
  const size_t first = body.find_first_not_of(' ');
  const size_t last = body.find_last_not_of(' ');
  return first == std::string::npos ? "" : body.substr(first, last - first + 1);
}

} // namespace kawara::poly
