#include "poly/legality/scheduled.h"

#include "poly/affine.h"
#include "poly/isl/dimensions.h"
#include "poly/isl/scheduler.h"

#include <algorithm>
#include <set>

namespace kawara::poly {
namespace {

/// Some index steps over elements (`2*x`, `x // 2`). Orders that line such accesses up are no good
/// to loops, and while isl looks for them its integer programs grow numbers of thousands of digits:
/// minutes for a pool of stride 2 over a padded line, long before any sensible quota runs out.
bool has_stride(const Scop& scop) {
  const auto steps = [](const Expr& index) {
    bool found = false;
    scalar::visit(index, [&](const Expr& e) {
      const auto* binary = scalar::as<scalar::Binary>(e);
      found = found || (binary && (binary->op == scalar::BinaryOp::Mul ||
                                   binary->op == scalar::BinaryOp::FloorDiv ||
                                   binary->op == scalar::BinaryOp::Mod));
    });
    return found;
  };
  const auto all = accesses(scop);
  return std::any_of(all.begin(), all.end(), [&](const Access& access) {
    return std::any_of(access.index.begin(), access.index.end(), steps);
  });
}

SchedulerQuestion question_of(const Scop& scop) {
  const isl::ctx ctx = scop.context_owner->get();
  SchedulerQuestion q;
  q.domain = isl::union_set::empty(ctx);
  q.context = scop.context;
  q.validity = q.proximity = q.coincidence = isl::union_map::empty(ctx);
  for (const ScopStatement& s : scop.statements)
    if (!s.is_removed)
      q.domain = q.domain.unite(isl::union_set(s.domain));
  for (const Dependence& d : scop.dependences) {
    const isl::union_map relation(d.relation);
    q.coincidence = q.coincidence.unite(relation);
    if (!d.is_reduction || scop.numerics == program::Numerics::Exact)
      q.validity = q.validity.unite(relation);
  }
  for (const Dependence& d : exact_dependences(scop))
    if (d.kind == DependenceKind::Flow)
      q.proximity = q.proximity.unite(isl::union_map(d.relation));
  return q;
}

/// Turns isl's schedule tree into an Order: a band becomes nested loops, a sequence or set a
/// sequence.
class Converter {
public:
  explicit Converter(const Scop& scop) : scop_(scop) { order_.rows.resize(scop.statements.size()); }

  std::optional<Order> convert(const isl::schedule& schedule) {
    std::vector<StmtId> all;
    for (uint32_t s = 0; s < scop_.statements.size(); ++s)
      if (!scop_.statements[s].is_removed)
        all.push_back(StmtId{s});
    order_.body = body_of(schedule.root().child(0), all, {});
    if (failed_)
      return std::nullopt;
    return order_;
  }

private:
  using Names = std::set<std::string>;

  std::vector<TreeNode> body_of(const isl::schedule_node& node,
                                const std::vector<StmtId>& statements, const Names& used) {
    if (node.isa<isl::schedule_node_band>())
      return loops_of(node, statements, used);
    if (node.isa<isl::schedule_node_sequence>() || node.isa<isl::schedule_node_set>())
      return sequence_of(node, statements, used);
    if (node.isa<isl::schedule_node_leaf>()) {
      std::vector<TreeNode> leaves;
      for (const StmtId id : statements)
        leaves.push_back({id, {}});
      return leaves;
    }
    return body_of(node.child(0), statements, used);
  }

  std::vector<TreeNode> sequence_of(const isl::schedule_node& node,
                                    const std::vector<StmtId>& statements, const Names& used) {
    std::vector<TreeNode> all;
    for (unsigned k = 0; k < static_cast<unsigned>(node.n_children()); ++k) {
      const auto filter = node.child(static_cast<int>(k)).as<isl::schedule_node_filter>();
      std::vector<StmtId> below;
      for (const StmtId id : statements)
        if (!filter.filter().intersect(isl::union_set(scop_[id].domain)).is_empty())
          below.push_back(id);
      for (TreeNode& child : body_of(filter.child(0), below, used))
        all.push_back(std::move(child));
    }
    return all;
  }

  std::vector<TreeNode> loops_of(const isl::schedule_node& node,
                                 const std::vector<StmtId>& statements, Names used) {
    const auto band = node.as<isl::schedule_node_band>();
    const isl::multi_union_pw_aff partial = band.partial_schedule();
    const unsigned members = partial.size();
    std::vector<LoopId> loops;
    for (unsigned k = 0; k < members; ++k) {
      const isl::union_pw_aff member = partial.at(static_cast<int>(k));
      for (const StmtId id : statements)
        add_row(id, member);
      const std::string name = name_for(statements, used);
      used.insert(name);
      loops.push_back(add_loop(order_, name, Span{}));
    }
    std::vector<TreeNode> body = body_of(node.child(0), statements, used);
    for (size_t k = loops.size(); k-- > 0;) {
      TreeNode loop{loops[k], std::move(body)};
      body.clear();
      body.push_back(std::move(loop));
    }
    return body;
  }

  void add_row(StmtId id, const isl::union_pw_aff& member) {
    const isl::pw_multi_aff function = member.extract_pw_multi_aff(
        pairs_of(scop_[id].domain,
                 statement_universe(scop_.context_owner->get(), scop_.params, "", 1))
            .space());
    Expr row = expr_from_pw_aff(function.at(0), scop_.params);
    failed_ = failed_ || !row;
    order_.rows[id.value].push_back(row ? scalar::simplify(row) : scalar::int_lit(0));
  }

  /// Name of an iterator that the newest row is made of, in some statement; else c0, c1, ...
  std::string name_for(const std::vector<StmtId>& statements, const Names& used) const {
    for (const StmtId id : statements) {
      std::string name;
      scalar::visit(order_.rows[id.value].back(), [&](const Expr& e) {
        const auto* it = scalar::as<scalar::Iter>(e);
        if (it && name.empty() && !used.count(scop_[id].text.iters[it->index]))
          name = scop_[id].text.iters[it->index];
      });
      if (!name.empty())
        return name;
    }
    for (size_t k = 0;; ++k)
      if (const std::string name = "c" + std::to_string(k); !used.count(name))
        return name;
  }

  const Scop& scop_;
  Order order_;
  bool failed_ = false;
};

} // namespace

std::optional<Order> scheduled_order(const Scop& scop, bool prefers_parallel, unsigned long quota) {
  std::optional<Order> order;
  if (has_stride(scop))
    return order;
  try {
    within_quota(*scop.context_owner, quota, [&] {
      SchedulerQuestion question = question_of(scop);
      question.prefers_parallel = prefers_parallel;
      order = Converter(scop).convert(compute_schedule(question));
    });
  } catch (const isl::exception&) {
    // The scheduler gives up on some programs ("unable to carry dependences"): no order from it
    // then.
    order.reset();
  }
  return order;
}

} // namespace kawara::poly
