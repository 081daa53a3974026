#include "kernel/from_schedule.h"

#include "kernel/from_schedule_expr.h"
#include "kernel/from_schedule_tree.h"
#include "support/check.h"

#include <isl/ast.h>
#include <isl/ast_build.h>

#include <cctype>
#include <map>
#include <optional>

namespace kawara::kernel {
namespace {

using poly::LoopId;
using poly::StmtId;
using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

/// Iterators get names that no parameter can have.
constexpr char kIteratorSign = '$';
constexpr int kMaxDepth = 64;

std::string c_name(std::string_view name) {
  std::string text;
  for (const char c : name)
    text += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0)
    text.insert(0, "_");
  return text;
}

std::string kernel_name(const poly::Scop& scop) {
  if (!scop.source)
    return "kernel";
  std::string_view name = scop.source->name;
  if (const size_t slash = name.rfind('/'); slash != std::string_view::npos)
    name.remove_prefix(slash + 1);
  if (const size_t dot = name.rfind('.'); dot != std::string_view::npos && dot != 0)
    name = name.substr(0, dot);
  const std::string text = c_name(name);
  return text.find_first_not_of('_') == std::string::npos ? "kernel" : text;
}

isl::ast_node ast_of(const schedule::Schedule& s) {
  const isl::schedule tree = tree_from_order(s.scop, s.order);
  if (tree.is_null())
    return {};
  isl::ctx ctx = s.scop.context_owner->get();
  isl_id_list* names = isl_id_list_alloc(ctx.get(), kMaxDepth);
  for (int d = 0; d < kMaxDepth; ++d) {
    const std::string name = kIteratorSign + std::to_string(d);
    names = isl_id_list_add(names, isl_id_alloc(ctx.get(), name.c_str(), nullptr));
  }
  isl::ast_build build = isl::ast_build::from_context(s.scop.context);
  build = isl::manage(isl_ast_build_set_iterators(build.release(), names));
  return build.node_from(tree);
}

/// a + 1 with min kept outermost, so that passes see the bounds one by one.
Expr plus_one(const Expr& e) {
  const auto* n = scalar::as<scalar::Binary>(e);
  if (n != nullptr && n->op == BinaryOp::Min)
    return binary(BinaryOp::Min, plus_one(n->lhs), plus_one(n->rhs));
  return scalar::simplify(e + int_lit(1));
}

class Converter {
public:
  Converter(const schedule::Schedule& s, Kernel& kernel) : schedule_(s), kernel_(kernel) {
    for (uint32_t id = 0; id < s.scop.statements.size(); ++id)
      statements_[s.scop.statements[id].text.name] = id;
    for (uint32_t p = 0; p < kernel.params.size(); ++p)
      values_[kernel.params[p].name] = scalar::param(p);
  }

  void node(const isl::ast_node& n, std::optional<LoopId> loop, Block& out) {
    switch (isl_ast_node_get_type(n.get())) {
    case isl_ast_node_for:
      return one(n.as<isl::ast_node_for>(), loop, out);
    case isl_ast_node_if:
      return one(n.as<isl::ast_node_if>(), loop, out);
    case isl_ast_node_block: {
      const isl::ast_node_list list = n.as<isl::ast_node_block>().children();
      for (unsigned i = 0; i < list.size(); ++i)
        node(list.at(static_cast<int>(i)), loop, out);
      return;
    }
    case isl_ast_node_mark: {
      const auto mark = n.as<isl::ast_node_mark>();
      return node(mark.node(), loop_of_mark(mark.id()), out);
    }
    case isl_ast_node_user:
      return one(n.as<isl::ast_node_user>(), out);
    default:
      KAWARA_CHECK(false, "unknown isl AST node");
    }
  }

private:
  Lookup lookup() const {
    return [this](const std::string& name) {
      const auto found = values_.find(name);
      KAWARA_CHECK(found != values_.end(), "isl names " + name);
      return found->second;
    };
  }

  Expr expr(const isl::ast_expr& e) const { return expr_from_ast(e, lookup()); }

  void one(const isl::ast_node_for& n, std::optional<LoopId> loop, Block& out) {
    KAWARA_CHECK(loop, "isl made a loop that the order does not have");
    const std::string iterator = isl::manage(isl_ast_expr_id_get_id(n.iterator().get())).name();
    const Expr lo = expr(n.init());
    if (n.is_degenerate()) {
      values_[iterator] = lo;
      node(n.body(), std::nullopt, out);
      return;
    }
    For result;
    result.var = variable_of(*loop);
    result.lo = lo;
    values_[iterator] = scalar::var(result.var);
    result.hi = upper_bound(n.cond());
    const auto step = scalar::constant_of(expr(n.inc()));
    KAWARA_CHECK(step && *step > 0, "step of an isl loop");
    result.step = *step;
    result.marks = schedule_.order[*loop].marks;
    result.joins_child = joins_child(*loop);
    node(n.body(), std::nullopt, result.body);
    values_.erase(iterator);
    out.emplace_back(std::move(result));
  }

  Expr upper_bound(const isl::ast_expr& cond) const {
    const isl_ast_expr_op_type type = isl_ast_expr_op_get_type(cond.get());
    KAWARA_CHECK(type == isl_ast_expr_op_le || type == isl_ast_expr_op_lt, "isl loop condition");
    const Expr bound = expr(isl::manage(isl_ast_expr_op_get_arg(cond.get(), 1)));
    return type == isl_ast_expr_op_lt ? bound : plus_one(bound);
  }

  /// Loops of one name never nest, so they share the variable: the parts that isl makes of one loop,
  /// and loops of separate nests.
  uint32_t variable_of(LoopId loop) {
    const std::string& name = schedule_.order[loop].name;
    const auto known = variables_.find(name);
    if (known != variables_.end())
      return known->second;
    const uint32_t var = add_variable(kernel_, c_name(name), scalar::kIndex);
    variables_[name] = var;
    return var;
  }

  bool joins_child(LoopId loop) const {
    const poly::TreeNode* found = poly::find_node(schedule_.order, loop);
    return found != nullptr && found->body.size() == 1 && found->body[0].is_loop() &&
           schedule_.order[found->body[0].loop()].is_coalesced_into_parent;
  }

  void one(const isl::ast_node_if& n, std::optional<LoopId> loop, Block& out) {
    If result;
    result.cond = expr(n.cond());
    node(n.then_node(), loop, result.then);
    if (n.has_else_node())
      node(n.else_node(), loop, result.otherwise);
    out.emplace_back(std::move(result));
  }

  void one(const isl::ast_node_user& n, Block& out) {
    const std::vector<Expr> iters = call_arguments(n.expr(), lookup());
    const program::Statement& text =
        schedule_.scop[StmtId{statements_.at(called_name(n.expr()))}].text;
    const auto at = [&](const Expr& e) {
      return scalar::simplify(scalar::substitute_iters(e, iters));
    };
    Store store{text.tensor, {}, text.op, at(text.value)};
    for (const Expr& e : text.index)
      store.index.push_back(at(e));
    out.emplace_back(std::move(store));
  }

  const schedule::Schedule& schedule_;
  Kernel& kernel_;
  std::map<std::string, uint32_t> statements_;
  std::map<std::string, Expr> values_;
  std::map<std::string, uint32_t> variables_; ///< by the name of the loop
};

} // namespace

Kernel kernel_from_schedule(const schedule::Schedule& s) {
  Kernel kernel;
  kernel.name = kernel_name(s.scop);
  kernel.params = s.scop.params;
  kernel.numerics = s.scop.numerics;
  for (const program::Tensor& t : s.scop.tensors) {
    const bool is_temp = t.role == program::Role::Temp;
    kernel.buffers.push_back(
        {t.name, t.elem, t.shape, is_temp ? Scope::Workspace : Scope::Argument, t.role});
  }
  for (const uint32_t tensor : s.scop.zeroed_outputs)
    kernel.body.emplace_back(Zero{tensor});
  if (const isl::ast_node ast = ast_of(s); !ast.is_null())
    Converter(s, kernel).node(ast, std::nullopt, kernel.body);
  return kernel;
}

} // namespace kawara::kernel
