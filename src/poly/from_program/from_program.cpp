#include "poly/affine.h"
#include "poly/from_program/bounds.h"
#include "poly/from_program/proved_indices.h"
#include "poly/isl/coalesced.h"
#include "poly/isl/dimensions.h"
#include "poly/scop.h"
#include "support/check.h"

namespace kawara::poly {

using program::Body;
using program::BodyNode;
using scalar::BinaryOp;

namespace {

/// A loop or a condition around a statement.
struct Enclosing {
  const program::Loop* loop = nullptr;
  const program::If* condition = nullptr;
  bool is_else = false;
};

/// Row of a loop: its value counted in steps, growing in the direction it runs.
///   range(N): i     range(0, N, 4): i // 4     range(N, 0, -1): -i
Expr row_of(const program::Loop& loop, uint32_t depth) {
  Expr value = scalar::iter(depth);
  if (loop.step < 0)
    value = scalar::unary(scalar::UnaryOp::Neg, value);
  const int64_t stride = loop.step < 0 ? -loop.step : loop.step;
  return stride == 1 ? value : scalar::binary(BinaryOp::FloorDiv, value, scalar::int_lit(stride));
}

isl::set within_loop(isl::set domain, const program::Loop& loop, uint32_t depth,
                     const std::vector<program::Param>& params) {
  const isl::pw_aff value = dimension_function(domain, depth);
  const isl::pw_aff lo = pw_aff_from_expr(loop.lo, domain, params);
  const isl::pw_aff hi = pw_aff_from_expr(loop.hi, domain, params);
  if (loop.step > 0)
    domain = domain.intersect(value.ge_set(lo)).intersect(value.lt_set(hi));
  else
    domain = domain.intersect(value.le_set(lo)).intersect(value.gt_set(hi));
  const int64_t stride = loop.step < 0 ? -loop.step : loop.step;
  if (stride == 1)
    return domain;
  const isl::pw_aff offset = value.sub(lo).mod(static_cast<long>(stride));
  return domain.intersect(offset.eq_set(offset.scale(0)));
}

/// Walks the body once, giving every statement its domain, rows and place in the tree.
class Builder {
public:
  Builder(const program::Program& program, Scop& scop) : program_(program), scop_(scop) {
    scop_.statements.resize(program.statements.size());
    scop_.source_order.rows.resize(program.statements.size());
  }

  void build() { scop_.source_order.body = tree_of(program_.body); }

private:
  std::vector<TreeNode> tree_of(const Body& body) {
    std::vector<TreeNode> nodes;
    for (const BodyNode& node : body)
      append(node, nodes);
    return nodes;
  }

  void append(const BodyNode& node, std::vector<TreeNode>& nodes) {
    if (const auto* ref = std::get_if<program::StatementRef>(&node)) {
      add_statement(ref->statement);
      nodes.push_back({StmtId{ref->statement}, {}});
    } else if (const auto* loop = std::get_if<program::Loop>(&node)) {
      const LoopId id = add_loop(scop_.source_order, loop->name, loop->where);
      enclosing_.push_back({loop, nullptr, false});
      std::vector<TreeNode> inner = tree_of(loop->body);
      enclosing_.pop_back();
      if (!inner.empty())
        nodes.push_back({id, std::move(inner)});
    } else {
      const auto& condition = std::get<program::If>(node);
      append_branch(condition, false, nodes);
      append_branch(condition, true, nodes);
    }
  }

  void append_branch(const program::If& condition, bool is_else, std::vector<TreeNode>& nodes) {
    enclosing_.push_back({nullptr, &condition, is_else});
    for (TreeNode& node : tree_of(is_else ? condition.otherwise : condition.then))
      nodes.push_back(std::move(node));
    enclosing_.pop_back();
  }

  void add_statement(uint32_t index) {
    const program::Statement& text = program_.statements[index];
    isl::set domain =
        statement_universe(scop_.context_owner->get(), scop_.params, text.name, text.iters.size());
    uint32_t depth = 0;
    for (const Enclosing& around : enclosing_) {
      if (around.loop) {
        domain = within_loop(domain, *around.loop, depth, scop_.params);
        scop_.source_order.rows[index].push_back(row_of(*around.loop, depth));
        ++depth;
      } else {
        const isl::set holds = set_from_condition(around.condition->cond, domain, scop_.params);
        domain = around.is_else ? domain.subtract(holds) : holds;
      }
    }
    KAWARA_CHECK(depth == text.iters.size(), "one iterator per enclosing loop of " + text.name);
    scop_.statements[index] = {text, coalesced(domain.intersect_params(scop_.context)), false};
  }

  const program::Program& program_;
  Scop& scop_;
  std::vector<Enclosing> enclosing_;
};

/// Parameters are non-negative, and what `assume` says holds.
isl::set context_of(const program::Program& program, isl::ctx ctx) {
  isl::set all = statement_universe(ctx, program.params, "", 0);
  for (uint32_t p = 0; p < program.params.size(); ++p)
    all = all.intersect(set_from_condition(
        scalar::binary(BinaryOp::Ge, scalar::param(p), scalar::int_lit(0)), all, program.params));
  for (const Expr& assumption : program.assumptions)
    all = all.intersect(set_from_condition(assumption, all, program.params));
  return coalesced(all.params());
}

} // namespace

Parsed<Scop> scop_from_program(const program::Program& program, ContextPtr context) {
  Scop scop;
  scop.context_owner = std::move(context);
  scop.source = program.source;
  scop.params = program.params;
  scop.tensors = program.tensors;
  scop.numerics = program.numerics;
  Diagnostics errors;
  const bool finished = within_quota(*scop.context_owner, 10 * kDefaultQuota, [&] {
    scop.context = context_of(program, scop.context_owner->get());
    Builder(program, scop).build();
    errors = out_of_bounds(scop);
    if (!errors.empty())
      return;
    scop = rebuilt(with_proved_indices(std::move(scop)));
    errors = check_initialised(scop);
  });
  if (!finished)
    return fail(Diagnostics{undecided_analysis(scop)});
  if (!errors.empty())
    return fail(std::move(errors));
  return scop;
}

} // namespace kawara::poly
