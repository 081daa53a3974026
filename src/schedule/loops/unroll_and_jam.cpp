#include "schedule/loops/unroll_and_jam.h"

#include "schedule/codes.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"
#include "schedule/tree/rewrite.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using poly::StmtId;
using poly::TreeNode;
using scalar::BinaryOp;
using scalar::Expr;

namespace {

/// Puts the copies' loop around every run of leaves and every vector loop below a node.
class Jam {
public:
  Jam(Order& order, LoopId loop, int64_t factor)
      : order_(order), loop_(loop), factor_(factor), depth_(*poly::depth_of(order, loop)) {}

  void run() {
    TreeNode& node = *poly::find_node(order_, loop_);
    for (const StmtId id : poly::statements_below(node)) {
      std::vector<Expr>& rows = order_.rows[id.value];
      copies_.emplace_back(id, scalar::simplify(scalar::binary(BinaryOp::Mod, rows[depth_],
                                                               scalar::int_lit(factor_))));
      rows[depth_] = scalar::simplify(
          scalar::binary(BinaryOp::FloorDiv, rows[depth_], scalar::int_lit(factor_)));
    }
    std::vector<std::string> names;
    for (const LoopId around : poly::path_of(order_, copies_.front().first)) {
      names.push_back(order_[around].name);
      if (around == loop_)
        break;
    }
    node.body = wrapped(std::move(node.body), depth_ + 1, names);
    poly::OrderLoop& loop = order_[loop_];
    loop.tile_size = (loop.tile_size + factor_ - 1) / factor_;
  }

private:
  std::vector<TreeNode> wrapped(std::vector<TreeNode> nodes, size_t depth,
                                const std::vector<std::string>& names) {
    std::vector<TreeNode> out, run;
    const auto close = [&] {
      if (!run.empty())
        out.push_back(copies_around(std::move(run), depth, names));
      run.clear();
    };
    for (TreeNode& node : nodes) {
      if (!node.is_loop()) {
        run.push_back(std::move(node));
        continue;
      }
      close();
      if (order_[node.loop()].marks.vector_width != 0) {
        run.push_back(std::move(node));
        close();
        continue;
      }
      std::vector<std::string> inner = names;
      inner.push_back(order_[node.loop()].name);
      node.body = wrapped(std::move(node.body), depth + 1, inner);
      out.push_back(std::move(node));
    }
    close();
    return out;
  }

  TreeNode copies_around(std::vector<TreeNode> nodes, size_t depth,
                         std::vector<std::string> taken) {
    for (const TreeNode& node : nodes)
      if (node.is_loop())
        taken.push_back(order_[node.loop()].name);
    const LoopId id = poly::add_loop(order_, fresh_name(order_[loop_].name + ".u", ".u", taken),
                                     order_[loop_].where);
    order_[id].marks.unroll = poly::kFullUnroll;
    order_[id].marks.is_isolated = true;
    order_[id].tile_size = factor_;
    TreeNode made{id, std::move(nodes)};
    const std::vector<StmtId> below = poly::statements_below(made);
    for (const auto& [statement, row] : copies_)
      if (std::find(below.begin(), below.end(), statement) != below.end()) {
        std::vector<Expr>& rows = order_.rows[statement.value];
        rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(depth), row);
      }
    return made;
  }

  Order& order_;
  LoopId loop_;
  int64_t factor_;
  size_t depth_;
  std::vector<std::pair<StmtId, Expr>> copies_; ///< row that counts the copies, by statement
};

} // namespace

Proposed propose(const Schedule& schedule, const UnrollAndJam& jam, const Environment&) {
  const std::string request = "cannot unroll and jam loop " + quoted(jam.loop);
  KAWARA_TRY(const LoopId loop, resolve_loop(schedule, jam.loop, request));
  const poly::OrderLoop& asked = schedule.order[loop];
  if (jam.factor < 2)
    return fail(shape_refusal(kBadSize, request + ": the factor must be at least 2", asked.where,
                              "", {"The factor was " + std::to_string(jam.factor) + "."}));
  if (auto refused = refuse_if_bound(schedule.order, loop, request))
    return fail(*std::move(refused));
  const TreeNode* node = poly::find_node(schedule.order, loop);
  if (std::none_of(node->body.begin(), node->body.end(),
                   [](const TreeNode& child) { return child.is_loop(); })) {
    Refusal::Shape refusal = shape_refusal(
        kNothingToJam, request + ": it is innermost", asked.where, "has no loop inside",
        {"Copies of " + quoted(jam.loop) +
         " are run together inside the loops below it, and there "
         "are none."});
    refusal.ways_out.push_back({Unroll{jam.loop, jam.factor}});
    return fail(std::move(refusal));
  }
  Order order = schedule.order;
  Jam(order, loop, jam.factor).run();
  return with_order(schedule, std::move(order));
}

} // namespace kawara::schedule
