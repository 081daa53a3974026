#include "kernel/from_schedule.h"

#include "kernel/contract_copies.h"
#include "kernel/from_schedule_expr.h"
#include "kernel/from_schedule_tree.h"
#include "poly/isl/ast.h"
#include "poly/legality.h"
#include "support/check.h"

#include <cctype>
#include <map>
#include <optional>
#include <set>

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
  std::vector<std::string> names;
  for (int d = 0; d < kMaxDepth; ++d)
    names.push_back(kIteratorSign + std::to_string(d));
  const isl::ast_build build =
      poly::with_iterators(isl::ast_build::from_context(s.scop.context), names);
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
    if (n.isa<isl::ast_node_for>())
      return one(n.as<isl::ast_node_for>(), loop, out);
    if (n.isa<isl::ast_node_if>())
      return one(n.as<isl::ast_node_if>(), loop, out);
    if (n.isa<isl::ast_node_user>())
      return one(n.as<isl::ast_node_user>(), out);
    if (n.isa<isl::ast_node_mark>()) {
      const auto mark = n.as<isl::ast_node_mark>();
      return node(mark.node(), loop_of_mark(mark.id()), out);
    }
    const isl::ast_node_list list = n.as<isl::ast_node_block>().children();
    for (unsigned i = 0; i < list.size(); ++i)
      node(list.at(static_cast<int>(i)), loop, out);
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
    const std::string iterator = n.iterator().as<isl::ast_expr_id>().id().name();
    const Expr lo = expr(n.init());
    if (n.is_degenerate()) {
      values_[iterator] = lo;
      node(n.body(), std::nullopt, out);
      return;
    }
    For result;
    const std::string name = free_name(*loop);
    result.var = variable_called(name);
    open_.insert(name);
    result.lo = lo;
    values_[iterator] = scalar::var(result.var);
    result.hi = upper_bound(n.cond());
    const auto step = scalar::constant_of(expr(n.inc()));
    KAWARA_CHECK(step && *step > 0, "step of an isl loop");
    result.step = *step;
    result.marks = schedule_.order[*loop].marks;
    result.marks.vector_width = lanes_of(*loop, result.step);
    result.joins_child = joins_child(*loop);
    node(n.body(), std::nullopt, result.body);
    values_.erase(iterator);
    open_.erase(name);
    out.emplace_back(std::move(result));
  }

  /// Lanes are proved for consecutive values of a loop. Lanes of a loop that isl found to skip values
  /// reach further: they need a proof of their own, or there are fewer of them.
  int64_t lanes_of(LoopId loop, int64_t step) const {
    const int64_t width = schedule_.order[loop].marks.vector_width;
    if (width <= 1 || step == 1)
      return width;
    poly::Order reaching = schedule_.order;
    reaching[loop].marks.vector_width = (width - 1) * step + 1;
    if (std::holds_alternative<poly::Legal>(poly::judge(schedule_.scop, reaching)))
      return width;
    int64_t lanes = width;
    while (lanes > 1 && (lanes - 1) * step >= width)
      lanes /= 2;
    return lanes > 1 ? lanes : 0;
  }

  Expr upper_bound(const isl::ast_expr& cond) const {
    const poly::AstOp op = poly::operator_of(cond);
    KAWARA_CHECK(op == poly::AstOp::Le || op == poly::AstOp::Lt, "isl loop condition");
    const Expr bound = expr(cond.as<isl::ast_expr_op>().arg(1));
    return op == poly::AstOp::Lt ? bound : plus_one(bound);
  }

  /// The loop's name, marked apart from an enclosing loop of the same name: fusing nests whose loops
  /// stand in different orders makes such pairs.
  std::string free_name(LoopId loop) const {
    std::string name = schedule_.order[loop].name;
    while (open_.contains(name))
      name += "_in";
    return name;
  }

  /// Loops of one name that do not nest share the variable: the parts that isl makes of one loop,
  /// and loops of separate nests.
  uint32_t variable_called(const std::string& name) {
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
  std::set<std::string> open_;                ///< names of the loops around the current node
};

} // namespace

Kernel kernel_from_schedule(const schedule::Schedule& s) {
  Kernel kernel;
  kernel.name = kernel_name(s.scop);
  kernel.params = s.scop.params;
  kernel.numerics = s.scop.numerics;
  for (const program::Tensor& t : s.scop.tensors) {
    const bool is_temp = t.role == program::Role::Temp;
    kernel.buffers.push_back({t.name, t.elem, t.shape, is_temp ? Scope::Workspace : Scope::Argument,
                              t.role, t.private_dims});
  }
  for (const uint32_t tensor : s.scop.zeroed_outputs)
    kernel.body.emplace_back(Zero{tensor});
  if (const isl::ast_node ast = ast_of(s); !ast.is_null())
    Converter(s, kernel).node(ast, std::nullopt, kernel.body);
  return contract_copies(std::move(kernel));
}

} // namespace kawara::kernel
