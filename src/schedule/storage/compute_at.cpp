#include "schedule/storage/compute_at.h"

#include "poly/accesses.h"
#include "poly/affine.h"
#include "poly/isl/coalesced.h"
#include "poly/isl/dimensions.h"
#include "poly/syntactic/prover.h"
#include "schedule/codes.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"
#include "schedule/tree/rewrite.h"
#include "support/check.h"

#include <algorithm>
#include <map>

namespace kawara::schedule {

using poly::Access;
using poly::LoopId;
using poly::Order;
using poly::Scop;
using poly::StmtId;
using poly::TreeNode;
using scalar::Expr;

namespace {

bool is_among(const std::vector<StmtId>& ids, StmtId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

void add_once(std::vector<StmtId>& ids, StmtId id) {
  if (!is_among(ids, id))
    ids.push_back(id);
}

/// Who writes and who reads the tensor that moves.
struct Producer {
  uint32_t tensor = 0;
  std::vector<StmtId> producers, consumers;
  std::vector<Access> writes, reads; ///< reads of consumers
};

Result<Producer, std::string> stage_of(const Scop& scop, StmtId id) {
  Producer stage;
  stage.tensor = scop[id].text.tensor;
  const program::Tensor& tensor = scop.tensors[stage.tensor];
  if (tensor.role != program::Role::Temp)
    return fail("`" + tensor.name + "` is an " + std::string(name_of(tensor.role)) +
                ": all of it must be stored, so only what writes a temp can move.");
  for (const Access& access : poly::accesses_of(scop, stage.tensor)) {
    if (access.is_write) {
      stage.writes.push_back(access);
      add_once(stage.producers, access.statement);
    } else if (!access.is_update) {
      stage.reads.push_back(access);
      add_once(stage.consumers, access.statement);
    }
  }
  for (const StmtId producer : stage.producers)
    if (is_among(stage.consumers, producer))
      return fail(scop[producer].text.name + " writes `" + tensor.name +
                  "` and reads other elements of it, so one element cannot be computed alone.");
  if (stage.reads.empty())
    return fail("Nothing reads `" + tensor.name + "`.");
  return stage;
}

std::optional<std::string> misplaced(const Schedule& schedule, const Producer& stage, LoopId loop,
                                     const std::string& loop_name) {
  const Scop& scop = schedule.scop;
  const std::string& tensor = scop.tensors[stage.tensor].name;
  const std::vector<StmtId> below = poly::statements_below(schedule.order, loop);
  for (const StmtId consumer : stage.consumers)
    if (!is_among(below, consumer))
      return scop[consumer].text.name + " reads `" + tensor + "` too and is not inside " +
             loop_name + ".";
  for (const StmtId producer : stage.producers)
    if (is_among(below, producer))
      return scop[producer].text.name + ", which writes `" + tensor + "`, is inside " + loop_name +
             " already.";
  for (const poly::Dependence& d : scop.dependences)
    if (d.tensor == stage.tensor && is_among(stage.consumers, d.source) &&
        is_among(stage.producers, d.sink))
      return scop[d.sink].text.name + " writes elements of `" + tensor + "` again after " +
             scop[d.source].text.name + " has read them, so an element has several values.";
  return std::nullopt;
}

/// { [o] -> S0[x] : some consumer instance in iteration o of the loops reads an element that S0
/// writes at x }, flattened to S0[o, x].
isl::set needed(const Scop& scop, const Order& order, const Producer& stage, size_t depth,
                const Access& write) {
  isl::map need;
  for (const Access& read : stage.reads) {
    const std::vector<Expr>& rows = order.rows[read.statement.value];
    const std::vector<Expr> prefix(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(depth));
    const isl::map at = map_of(prefix, scop[read.statement].domain, scop.params);
    const isl::map part =
        at.reverse().apply_range(read.relation).apply_range(write.relation.reverse());
    need = need.is_null() ? part : need.unite(part);
  }
  return poly::coalesced(renamed(need.wrap().flatten(), scop[write.statement].text.name));
}

std::vector<Expr> shifted_iters(size_t count, size_t by) {
  std::vector<Expr> iters;
  for (size_t d = 0; d < count; ++d)
    iters.push_back(scalar::iter(static_cast<uint32_t>(d + by)));
  return iters;
}

/// The move itself, step by step on one proposal.
class Relocation {
public:
  Relocation(const Schedule& schedule, Producer stage, LoopId loop)
      : made_{schedule.scop, schedule.order}, stage_(std::move(stage)), loop_(loop),
        depth_(*poly::depth_of(schedule.order, loop) + 1) {
    for (const LoopId around : poly::path_of(made_.order, stage_.consumers.front())) {
      prefix_names_.push_back(made_.order[around].name);
      if (around == loop)
        break;
    }
  }

  /// Empty when no iteration reads anything.
  std::optional<Proposal> proposal() {
    find_domains();
    if (std::all_of(domains_.begin(), domains_.end(),
                    [](const auto& entry) { return entry.second.is_empty(); }))
      return std::nullopt;
    widen_tensor();
    rewrite_consumers();
    std::vector<TreeNode> moved =
        kept(made_.order.body, [&](StmtId id) { return is_among(stage_.producers, id); });
    renumber_loops(made_.order, moved);
    made_.order.body =
        kept(made_.order.body, [&](StmtId id) { return !is_among(stage_.producers, id); });
    for (const StmtId producer : stage_.producers)
      rewrite_producer(producer);
    moved = without_fixed_loops(std::move(moved), 0);
    rename_loops(moved, prefix_names_);
    insert(std::move(moved));
    made_.scop = poly::rebuilt(std::move(made_.scop));
    return std::move(made_);
  }

private:
  void find_domains() {
    for (const Access& write : stage_.writes)
      domains_[write.statement] = needed(made_.scop, made_.order, stage_, depth_, write);
  }

  /// T[element] becomes T[o, element]; `lows_` are the smallest values of o.
  void widen_tensor() {
    isl::set prefixes;
    for (const auto& [id, domain] : domains_) {
      const isl::map first = map_of(shifted_iters(depth_, 0), domain, made_.scop.params);
      prefixes = prefixes.is_null() ? first.range() : prefixes.unite(first.range());
    }
    program::Tensor& tensor = made_.scop.tensors[stage_.tensor];
    std::vector<Expr> shape;
    for (unsigned d = 0; d < depth_; ++d) {
      const Ends ends = ends_of(prefixes, d, made_.scop.params);
      lows_.push_back(ends.low);
      shape.push_back(extent_of(ends));
    }
    tensor.shape.insert(tensor.shape.begin(), shape.begin(), shape.end());
    tensor.private_dims += static_cast<uint32_t>(depth_);
  }

  std::vector<Expr> widened(const std::vector<Expr>& prefix,
                            const std::vector<Expr>& element) const {
    std::vector<Expr> index;
    for (size_t d = 0; d < depth_; ++d)
      index.push_back(scalar::simplify(prefix[d] - lows_[d]));
    index.insert(index.end(), element.begin(), element.end());
    return index;
  }

  void rewrite_consumers() {
    for (const StmtId id : stage_.consumers) {
      program::Statement& text = made_.scop.statements[id.value].text;
      const std::vector<Expr>& rows = made_.order.rows[id.value];
      text.value = scalar::rewrite(text.value, [&](const Expr& e) -> Expr {
        const auto* load = scalar::as<scalar::Load>(e);
        if (!load || load->tensor != stage_.tensor)
          return {};
        return scalar::load(load->tensor, widened(rows, load->index), e.type());
      });
    }
  }

  /// New iterators lead; in the source order the copies of an iteration run one after the other at
  /// the moment at which it ran, so that what it reads is still what it read.
  void rewrite_producer(StmtId id) {
    poly::ScopStatement& statement = made_.scop.statements[id.value];
    program::Statement& text = statement.text;
    const std::vector<Expr> old = shifted_iters(text.iters.size(), depth_);
    const std::vector<Expr> prefix = shifted_iters(depth_, 0);
    const auto shift = [&](std::vector<Expr>& exprs) {
      for (Expr& e : exprs)
        e = scalar::substitute_iters(e, old);
    };
    shift(text.index);
    text.index = widened(prefix, text.index);
    text.value = scalar::substitute_iters(text.value, old);
    std::vector<std::string> names = prefix_names_;
    for (const std::string& name : text.iters)
      names.push_back(fresh_name(name, ".p", names));
    text.iters = names;
    statement.domain = domains_.at(id);

    shift(made_.order.rows[id.value]);
    std::vector<Expr>& rows = made_.order.rows[id.value];
    rows.insert(rows.begin(), prefix.begin(), prefix.end());
    Order& source = made_.scop.source_order;
    shift(source.rows[id.value]);
    source.rows[id.value].insert(source.rows[id.value].end(), prefix.begin(), prefix.end());
    wrap_source_leaf(id);
  }

  void wrap_source_leaf(StmtId id) {
    Order& source = made_.scop.source_order;
    std::vector<std::string> taken;
    for (const LoopId around : poly::path_of(source, id))
      taken.push_back(source[around].name);
    TreeNode node{id, {}};
    for (size_t d = depth_; d-- > 0;) {
      taken.push_back(fresh_name(prefix_names_[d], ".p", taken));
      node = TreeNode{poly::add_loop(source, taken.back(), source_span(id)), {std::move(node)}};
    }
    const LeafPlace place = place_of(source, id);
    (*place.sequence)[place.index] = std::move(node);
  }

  Span source_span(StmtId id) const { return made_.scop[id].text.where; }

  /// Leaves out loops whose value is always that of a loop around: they run once. `level` counts
  /// the loops between loop i and the nodes.
  std::vector<TreeNode> without_fixed_loops(std::vector<TreeNode> nodes, size_t level) {
    std::vector<TreeNode> out;
    for (TreeNode& node : nodes) {
      if (!node.is_loop()) {
        out.push_back(std::move(node));
        continue;
      }
      if (!is_fixed(node, depth_ + level)) {
        node.body = without_fixed_loops(std::move(node.body), level + 1);
        out.push_back(std::move(node));
        continue;
      }
      for (const StmtId id : poly::statements_below(node)) {
        std::vector<Expr>& rows = made_.order.rows[id.value];
        rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(depth_ + level));
      }
      for (TreeNode& inner : without_fixed_loops(std::move(node.body), level))
        out.push_back(std::move(inner));
    }
    return out;
  }

  bool is_fixed(const TreeNode& node, size_t row_at) const {
    const auto& loop = made_.order[node.loop()];
    if (loop.is_coalesced_into_parent ||
        (node.body.size() == 1 && node.body[0].is_loop() &&
         made_.order[node.body[0].loop()].is_coalesced_into_parent))
      return false;
    for (unsigned d = 0; d < depth_; ++d) {
      bool is_equal = true;
      for (const StmtId id : poly::statements_below(node)) {
        is_equal = is_equal && is_iterator(made_.order.rows[id.value][row_at], id, d);
      }
      if (is_equal)
        return true;
    }
    return false;
  }

  /// Whether the row has the value of iterator `d` in every iteration of the statement.
  bool is_iterator(const Expr& row, StmtId id, unsigned d) const {
    const isl::set& domain = made_.scop[id].domain;
    const poly::Answer seen = poly::SyntacticProver(made_.scop).are_equal(id, row, scalar::iter(d));
    if (seen != poly::Answer::Unknown)
      return seen == poly::Answer::Yes;
    const isl::pw_aff function = poly::pw_aff_from_expr(row, domain, made_.scop.params);
    return domain.is_subset(function.eq_set(poly::dimension_function(domain, d)));
  }

  void rename_loops(std::vector<TreeNode>& nodes, const std::vector<std::string>& taken) {
    for (TreeNode& node : nodes) {
      if (!node.is_loop())
        continue;
      poly::OrderLoop& loop = made_.order[node.loop()];
      loop.name = fresh_name(loop.name, ".p", taken);
      std::vector<std::string> inner = taken;
      inner.push_back(loop.name);
      rename_loops(node.body, inner);
    }
  }

  void insert(std::vector<TreeNode> moved) {
    std::vector<TreeNode>& body = poly::find_node(made_.order, loop_)->body;
    const auto first = std::find_if(body.begin(), body.end(), [&](const TreeNode& node) {
      const std::vector<StmtId> below = poly::statements_below(node);
      return std::any_of(below.begin(), below.end(),
                         [&](StmtId id) { return is_among(stage_.consumers, id); });
    });
    KAWARA_CHECK(first != body.end(), "a consumer is below the loop");
    body.insert(first, std::make_move_iterator(moved.begin()),
                std::make_move_iterator(moved.end()));
  }

  Proposal made_;
  Producer stage_;
  LoopId loop_;
  size_t depth_; ///< loops from the outermost to loop i
  std::vector<std::string> prefix_names_;
  std::map<StmtId, isl::set> domains_;
  std::vector<Expr> lows_;
};

} // namespace

Proposed propose(const Schedule& schedule, const ComputeAt& directive, const Environment&) {
  const std::string loop_name = quoted(directive.loop);
  const std::string request = "cannot compute `" + directive.statement + "` at loop " + loop_name;
  KAWARA_TRY(const StmtId id, resolve_statement(schedule, directive.statement, request));
  KAWARA_TRY(const LoopId loop, resolve_loop(schedule, directive.loop, request));
  if (auto refused = refuse_as_place(schedule.order, loop, request))
    return fail(*std::move(refused));
  const auto refused = [&](const std::string& why) {
    return fail(shape_refusal(kCannotComputeAt, request, schedule.scop[id].text.where,
                              "cannot move there", {why}));
  };
  auto stage = stage_of(schedule.scop, id);
  if (!stage)
    return refused(stage.error());
  if (const auto why = misplaced(schedule, *stage, loop, loop_name))
    return refused(*why);
  const std::string& tensor = schedule.scop.tensors[stage->tensor].name;
  auto made = Relocation(schedule, *std::move(stage), loop).proposal();
  if (!made)
    return refused("No iteration of " + loop_name + " reads `" + tensor + "`.");
  return *std::move(made);
}

} // namespace kawara::schedule
