#include "kernel/from_schedule/from_schedule_expr.h"

#include "poly/isl/ast.h"
#include "support/check.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using poly::AstOp;
using scalar::binary;
using scalar::BinaryOp;
using scalar::Expr;

BinaryOp binary_of(AstOp op) {
  switch (op) {
  case AstOp::And:
    return BinaryOp::And;
  case AstOp::Or:
    return BinaryOp::Or;
  case AstOp::Max:
    return BinaryOp::Max;
  case AstOp::Min:
    return BinaryOp::Min;
  case AstOp::Add:
    return BinaryOp::Add;
  case AstOp::Sub:
    return BinaryOp::Sub;
  case AstOp::Mul:
    return BinaryOp::Mul;
  case AstOp::Div:
    return BinaryOp::FloorDiv;
  case AstOp::Mod:
    return BinaryOp::Mod;
  case AstOp::Eq:
    return BinaryOp::Eq;
  case AstOp::Le:
    return BinaryOp::Le;
  case AstOp::Lt:
    return BinaryOp::Lt;
  case AstOp::Ge:
    return BinaryOp::Ge;
  case AstOp::Gt:
    return BinaryOp::Gt;
  default:
    KAWARA_CHECK(false, "operator of an isl expression");
  }
}

/// isl writes a condition that always holds as 1: what it knows already may leave nothing of a part
/// of an `or`.
Expr as_condition(const Expr& e) {
  return e.type().elem == scalar::Elem::Bool ? e : binary(BinaryOp::Ne, e, scalar::int_lit(0));
}

Expr convert(const isl::ast_expr& e, const Lookup& lookup) {
  if (e.isa<isl::ast_expr_int>())
    return scalar::int_lit(e.as<isl::ast_expr_int>().val().num_si());
  if (e.isa<isl::ast_expr_id>())
    return lookup(e.as<isl::ast_expr_id>().id().name());
  const auto whole = e.as<isl::ast_expr_op>();
  std::vector<Expr> args;
  for (unsigned i = 0; i < whole.n_arg(); ++i)
    args.push_back(convert(whole.arg(static_cast<int>(i)), lookup));
  const AstOp op = poly::operator_of(e);
  if (op == AstOp::Minus)
    return scalar::unary(scalar::UnaryOp::Neg, args.at(0));
  if (op == AstOp::Select)
    return scalar::select(as_condition(args.at(0)), args.at(1), args.at(2));
  if (op == AstOp::And || op == AstOp::Or)
    std::transform(args.begin(), args.end(), args.begin(), as_condition);
  Expr result = args.at(0);
  for (size_t i = 1; i < args.size(); ++i)
    result = binary(binary_of(op), result, args[i]);
  return result;
}

} // namespace

Expr expr_from_ast(const isl::ast_expr& e, const Lookup& lookup) {
  return scalar::simplify(convert(e, lookup));
}

Expr condition_from_ast(const isl::ast_expr& e, const Lookup& lookup) {
  return scalar::simplify(as_condition(convert(e, lookup)));
}

std::vector<Expr> call_arguments(const isl::ast_expr& call, const Lookup& lookup) {
  const auto whole = call.as<isl::ast_expr_op>();
  std::vector<Expr> args;
  for (unsigned i = 1; i < whole.n_arg(); ++i)
    args.push_back(expr_from_ast(whole.arg(static_cast<int>(i)), lookup));
  return args;
}

std::string called_name(const isl::ast_expr& call) {
  return call.as<isl::ast_expr_op>().arg(0).as<isl::ast_expr_id>().id().name();
}

} // namespace kawara::kernel
