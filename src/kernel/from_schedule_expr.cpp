#include "kernel/from_schedule_expr.h"

#include "support/check.h"

#include <isl/ast.h>
#include <isl/val.h>

namespace kawara::kernel {
namespace {

using scalar::binary;
using scalar::BinaryOp;
using scalar::Expr;

int64_t integer(const isl::ast_expr& e) {
  const isl::val value = isl::manage(isl_ast_expr_int_get_val(e.get()));
  return static_cast<int64_t>(value.num_si());
}

BinaryOp operator_of(isl_ast_expr_op_type type) {
  switch (type) {
  case isl_ast_expr_op_and:
  case isl_ast_expr_op_and_then:
    return BinaryOp::And;
  case isl_ast_expr_op_or:
  case isl_ast_expr_op_or_else:
    return BinaryOp::Or;
  case isl_ast_expr_op_max:
    return BinaryOp::Max;
  case isl_ast_expr_op_min:
    return BinaryOp::Min;
  case isl_ast_expr_op_add:
    return BinaryOp::Add;
  case isl_ast_expr_op_sub:
    return BinaryOp::Sub;
  case isl_ast_expr_op_mul:
    return BinaryOp::Mul;
  case isl_ast_expr_op_div:
  case isl_ast_expr_op_fdiv_q:
  case isl_ast_expr_op_pdiv_q:
    return BinaryOp::FloorDiv;
  case isl_ast_expr_op_pdiv_r:
  case isl_ast_expr_op_zdiv_r:
    return BinaryOp::Mod;
  case isl_ast_expr_op_eq:
    return BinaryOp::Eq;
  case isl_ast_expr_op_le:
    return BinaryOp::Le;
  case isl_ast_expr_op_lt:
    return BinaryOp::Lt;
  case isl_ast_expr_op_ge:
    return BinaryOp::Ge;
  case isl_ast_expr_op_gt:
    return BinaryOp::Gt;
  default:
    KAWARA_CHECK(false, "isl operator " + std::to_string(type));
  }
}

isl::ast_expr argument(const isl::ast_expr& e, int position) {
  return isl::manage(isl_ast_expr_op_get_arg(e.get(), position));
}

Expr convert(const isl::ast_expr& e, const Lookup& lookup) {
  if (isl_ast_expr_get_type(e.get()) == isl_ast_expr_int)
    return scalar::int_lit(integer(e));
  if (isl_ast_expr_get_type(e.get()) == isl_ast_expr_id)
    return lookup(isl::manage(isl_ast_expr_id_get_id(e.get())).name());
  const isl_ast_expr_op_type type = isl_ast_expr_op_get_type(e.get());
  const int count = static_cast<int>(isl_ast_expr_op_get_n_arg(e.get()));
  std::vector<Expr> args;
  for (int i = 0; i < count; ++i)
    args.push_back(convert(argument(e, i), lookup));
  if (type == isl_ast_expr_op_minus)
    return scalar::unary(scalar::UnaryOp::Neg, args.at(0));
  if (type == isl_ast_expr_op_cond || type == isl_ast_expr_op_select)
    return scalar::select(args.at(0), args.at(1), args.at(2));
  const BinaryOp op = operator_of(type);
  Expr whole = args.at(0);
  for (size_t i = 1; i < args.size(); ++i)
    whole = binary(op, whole, args[i]);
  return whole;
}

} // namespace

Expr expr_from_ast(const isl::ast_expr& e, const Lookup& lookup) {
  return scalar::simplify(convert(e, lookup));
}

std::vector<Expr> call_arguments(const isl::ast_expr& call, const Lookup& lookup) {
  std::vector<Expr> args;
  const int count = static_cast<int>(isl_ast_expr_op_get_n_arg(call.get()));
  for (int i = 1; i < count; ++i)
    args.push_back(expr_from_ast(argument(call, i), lookup));
  return args;
}

std::string called_name(const isl::ast_expr& call) {
  return isl::manage(isl_ast_expr_id_get_id(argument(call, 0).get())).name();
}

} // namespace kawara::kernel
