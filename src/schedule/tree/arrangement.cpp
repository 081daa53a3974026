#include "schedule/tree/arrangement.h"

#include "poly/legality/witness.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using poly::StmtId;
using poly::TreeNode;

namespace {

/// Statements of a tree with their places, their loops named by `around(statement, depth, loop)`.
template <class AroundOf> class Written {
public:
  Written(const poly::Scop& scop, const AroundOf& around) : scop_(scop), around_(around) {}

  /// False where some loop has no name.
  bool add(const std::vector<TreeNode>& body) {
    bool is_complete = true;
    for (size_t k = 0; k < body.size(); ++k) {
      places_.push_back(static_cast<int64_t>(k));
      if (body[k].is_loop()) {
        loops_.push_back(body[k].loop());
        is_complete = add(body[k].body) && is_complete;
        loops_.pop_back();
      } else {
        is_complete = add(body[k].statement()) && is_complete;
      }
      places_.pop_back();
    }
    return is_complete;
  }

  Arrange made;

private:
  bool add(StmtId id) {
    ArrangedStatement statement{scop_[id].text.name, {}, places_};
    for (size_t k = 0; k < loops_.size(); ++k) {
      const std::optional<ArrangedStatement::Around> around = around_(id, k, loops_[k]);
      if (!around)
        return false;
      statement.loops.push_back(*around);
    }
    made.statements.push_back(std::move(statement));
    return true;
  }

  const poly::Scop& scop_;
  const AroundOf& around_;
  std::vector<int64_t> places_;
  std::vector<LoopId> loops_;
};

bool is_linear(const scalar::Expr& row) {
  bool is = true;
  scalar::visit(row, [&](const scalar::Expr& e) {
    const auto* b = scalar::as<scalar::Binary>(e);
    is = is && (b == nullptr || b->op == scalar::BinaryOp::Add || b->op == scalar::BinaryOp::Sub);
  });
  return is;
}

/// `row` minus `other`, where both are sums of iterators and that is a number.
std::optional<int64_t> distance(const poly::Scop& scop, StmtId id, const scalar::Expr& row,
                                const scalar::Expr& other) {
  if (!is_linear(row) || !is_linear(other))
    return std::nullopt;
  const std::vector<int64_t> params(scop.params.size(), 16);
  std::vector<int64_t> at(scop[id].text.iters.size(), 64);
  const auto difference = [&] {
    return poly::value_at(row, params, at) - poly::value_at(other, params, at);
  };
  const int64_t first = difference();
  for (size_t k = 0; k < at.size(); ++k) {
    ++at[k];
    if (difference() != first)
      return std::nullopt;
  }
  return first;
}

} // namespace

Arrange arrangement_below(const poly::Scop& scop, const Order& before, LoopId loop,
                          const Order& after) {
  const std::vector<StmtId> below = poly::statements_below(before, loop);
  const std::vector<LoopId> path = poly::path_of(before, below.front());
  const auto depth = std::find(path.begin(), path.end(), loop) - path.begin();
  const std::vector<TreeNode>& body =
      depth == 0 ? after.body : poly::find_node(after, path[static_cast<size_t>(depth) - 1])->body;
  std::vector<TreeNode> nodes;
  for (const TreeNode& node : body) {
    const std::vector<StmtId> inside = poly::statements_below(node);
    if (std::find(below.begin(), below.end(), inside.front()) != below.end())
      nodes.push_back(node);
  }
  const auto around = [&](StmtId, size_t, LoopId each) {
    return std::optional(ArrangedStatement::Around{after[each].name, 0});
  };
  Written written(scop, around);
  written.add(nodes);
  return std::move(written.made);
}

std::optional<Arrange> arrangement_of(const poly::Scop& scop, const Order& before,
                                      const Order& after) {
  const auto around = [&](StmtId id, size_t depth, LoopId) {
    const std::vector<LoopId> path = poly::path_of(before, id);
    const scalar::Expr& row = after.rows[id.value][depth];
    const std::vector<scalar::Expr>& rows = before.rows[id.value];
    std::optional<ArrangedStatement::Around> found;
    for (size_t k = 0; k < path.size() && !found; ++k)
      if (scalar::equal(row, rows[k]))
        found = {before[path[k]].name, 0};
    for (size_t k = 0; k < path.size() && !found; ++k)
      if (const auto shift = distance(scop, id, row, rows[k]))
        found = {before[path[k]].name, *shift};
    return found;
  };
  Written written(scop, around);
  return written.add(after.body) ? std::optional(std::move(written.made)) : std::nullopt;
}

} // namespace kawara::schedule
