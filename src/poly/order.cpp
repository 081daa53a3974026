#include "poly/order.h"

#include "support/check.h"

#include <algorithm>

namespace kawara::poly {
namespace {

/// Indices of the children to take from the root to the statement's leaf; empty when absent.
bool find_leaf(const std::vector<TreeNode>& body, StmtId id, std::vector<LoopId>& loops,
               std::vector<size_t>& positions) {
  for (size_t k = 0; k < body.size(); ++k) {
    const TreeNode& node = body[k];
    positions.push_back(k);
    if (!node.is_loop() && node.statement() == id)
      return true;
    if (node.is_loop()) {
      loops.push_back(node.loop());
      if (find_leaf(node.body, id, loops, positions))
        return true;
      loops.pop_back();
    }
    positions.pop_back();
  }
  return false;
}

void collect_statements(const TreeNode& node, std::vector<StmtId>& out) {
  if (!node.is_loop())
    out.push_back(node.statement());
  for (const TreeNode& child : node.body)
    collect_statements(child, out);
}

template <class Node> Node* find_in(std::vector<TreeNode>& body, LoopId id) {
  for (TreeNode& node : body) {
    if (!node.is_loop())
      continue;
    if (node.loop() == id)
      return &node;
    if (Node* found = find_in<Node>(node.body, id))
      return found;
  }
  return nullptr;
}

std::optional<size_t> depth_in(const std::vector<TreeNode>& body, LoopId id, size_t depth) {
  for (const TreeNode& node : body) {
    if (!node.is_loop())
      continue;
    if (node.loop() == id)
      return depth;
    if (const auto found = depth_in(node.body, id, depth + 1))
      return found;
  }
  return std::nullopt;
}

void collect_loops(const std::vector<TreeNode>& body, std::vector<LoopId>& out) {
  for (const TreeNode& node : body)
    if (node.is_loop()) {
      out.push_back(node.loop());
      collect_loops(node.body, out);
    }
}

std::string marks_text(const Marks& marks) {
  std::string text;
  if (marks.is_parallel)
    text += " parallel";
  if (marks.vector_width)
    text += (marks.is_scan ? " scan(" : " vector(") + std::to_string(marks.vector_width) + ")";
  if (marks.unroll == kFullUnroll)
    text += " unroll";
  else if (marks.unroll)
    text += " unroll(" + std::to_string(marks.unroll) + ")";
  if (!marks.instruction.empty())
    text += " " + marks.instruction;
  if (marks.is_isolated)
    text += " isolated";
  if (!marks.prefetches.empty())
    text += " prefetch";
  if (marks.axis != Axis::None)
    text += " " + std::string(name_of(marks.axis));
  if (marks.stages != 0)
    text += " pipeline(" + std::to_string(marks.stages) + ")";
  return text.empty() ? text : "  #" + text;
}

void print_body(const Order& order, const std::vector<TreeNode>& body, int depth,
                const std::vector<std::string>& names, std::string& out) {
  for (const TreeNode& node : body) {
    if (node.is_loop() && order[node.loop()].is_coalesced_into_parent) {
      print_body(order, node.body, depth, names, out);
      continue;
    }
    out.append(static_cast<size_t>(2 * depth), ' ');
    if (node.is_loop()) {
      out += "for " + order[node.loop()].name + ":" + marks_text(order[node.loop()].marks) + "\n";
      print_body(order, node.body, depth + 1, names, out);
    } else {
      out += names[node.statement().value] + "\n";
    }
  }
}

} // namespace

std::vector<LoopId> path_of(const Order& order, StmtId id) {
  std::vector<LoopId> loops;
  std::vector<size_t> positions;
  find_leaf(order.body, id, loops, positions);
  return loops;
}

std::vector<StmtId> statements_below(const TreeNode& node) {
  std::vector<StmtId> out;
  collect_statements(node, out);
  return out;
}

std::vector<StmtId> statements_below(const Order& order, LoopId id) {
  const TreeNode* node = find_node(order, id);
  return node ? statements_below(*node) : std::vector<StmtId>{};
}

TreeNode* find_node(Order& order, LoopId id) { return find_in<TreeNode>(order.body, id); }

const TreeNode* find_node(const Order& order, LoopId id) {
  return find_in<TreeNode>(const_cast<Order&>(order).body, id);
}

std::optional<size_t> depth_of(const Order& order, LoopId id) {
  return depth_in(order.body, id, 0);
}

std::vector<LoopId> loops_in_order(const Order& order) {
  std::vector<LoopId> out;
  collect_loops(order.body, out);
  return out;
}

LoopId add_loop(Order& order, std::string name, Span where) {
  OrderLoop loop;
  loop.name = std::move(name);
  loop.where = where;
  order.loops.push_back(std::move(loop));
  return LoopId{static_cast<uint32_t>(order.loops.size() - 1)};
}

Meeting meet(const Order& order, StmtId a, StmtId b) {
  std::vector<LoopId> loops_a, loops_b;
  std::vector<size_t> at_a, at_b;
  const bool found =
      find_leaf(order.body, a, loops_a, at_a) && find_leaf(order.body, b, loops_b, at_b);
  KAWARA_CHECK(found, "both statements in the order");
  Meeting meeting;
  size_t level = 0;
  while (level < at_a.size() && level < at_b.size() && at_a[level] == at_b[level])
    ++level;
  if (level == at_a.size() || level == at_b.size()) {
    meeting.shared_loops = loops_a.size();
    return meeting;
  }
  meeting.shared_loops = level;
  meeting.order = at_a[level] < at_b[level] ? -1 : 1;
  return meeting;
}

std::string print(const Order& order, const std::vector<std::string>& statement_names) {
  std::string out;
  print_body(order, order.body, 0, statement_names, out);
  return out;
}

} // namespace kawara::poly
