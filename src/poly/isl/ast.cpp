#include "poly/isl/ast.h"

#include <isl/ast.h>
#include <isl/ast_build.h>
#include <isl/id.h>
#include <isl/schedule.h>

namespace kawara::poly {

isl::schedule in_sequence(const isl::schedule& first, const isl::schedule& second) {
  return isl::manage(isl_schedule_sequence(first.copy(), second.copy()));
}

isl::schedule with_outer_band(const isl::schedule& body, const isl::multi_union_pw_aff& rows) {
  return isl::manage(isl_schedule_insert_partial_schedule(body.copy(), rows.copy()));
}

isl::ast_build with_iterators(const isl::ast_build& build, const std::vector<std::string>& names) {
  isl_ctx* ctx = build.ctx().get();
  isl_id_list* list = isl_id_list_alloc(ctx, static_cast<int>(names.size()));
  for (const std::string& name : names)
    list = isl_id_list_add(list, isl_id_alloc(ctx, name.c_str(), nullptr));
  return isl::manage(isl_ast_build_set_iterators(build.copy(), list));
}

isl::ast_node loops_of(const isl::ast_build& build, const isl::schedule& schedule,
                       bool keeps_iterations) {
  isl_ctx* ctx = build.ctx().get();
  const int before = isl_options_get_ast_build_group_coscheduled(ctx);
  isl_options_set_ast_build_group_coscheduled(ctx, keeps_iterations ? 1 : 0);
  isl_ast_node* loops = isl_ast_build_node_from_schedule(build.get(), schedule.copy());
  isl_options_set_ast_build_group_coscheduled(ctx, before);
  return isl::manage(loops);
}

size_t places_of_statements(const isl::ast_node& loops) {
  size_t count = 0;
  const auto look = [](isl_ast_node* node, void* user) {
    *static_cast<size_t*>(user) += isl_ast_node_get_type(node) == isl_ast_node_user ? 1 : 0;
    return isl_bool_true;
  };
  isl_ast_node_foreach_descendant_top_down(loops.get(), look, &count);
  return count;
}

AstOp operator_of(const isl::ast_expr& e) {
  switch (isl_ast_expr_op_get_type(e.get())) {
  case isl_ast_expr_op_and:
  case isl_ast_expr_op_and_then:
    return AstOp::And;
  case isl_ast_expr_op_or:
  case isl_ast_expr_op_or_else:
    return AstOp::Or;
  case isl_ast_expr_op_max:
    return AstOp::Max;
  case isl_ast_expr_op_min:
    return AstOp::Min;
  case isl_ast_expr_op_minus:
    return AstOp::Minus;
  case isl_ast_expr_op_add:
    return AstOp::Add;
  case isl_ast_expr_op_sub:
    return AstOp::Sub;
  case isl_ast_expr_op_mul:
    return AstOp::Mul;
  case isl_ast_expr_op_div:
  case isl_ast_expr_op_fdiv_q:
  case isl_ast_expr_op_pdiv_q:
    return AstOp::Div;
  case isl_ast_expr_op_pdiv_r:
  case isl_ast_expr_op_zdiv_r:
    return AstOp::Mod;
  case isl_ast_expr_op_cond:
  case isl_ast_expr_op_select:
    return AstOp::Select;
  case isl_ast_expr_op_eq:
    return AstOp::Eq;
  case isl_ast_expr_op_le:
    return AstOp::Le;
  case isl_ast_expr_op_lt:
    return AstOp::Lt;
  case isl_ast_expr_op_ge:
    return AstOp::Ge;
  case isl_ast_expr_op_gt:
    return AstOp::Gt;
  default:
    return AstOp::Other;
  }
}

} // namespace kawara::poly
