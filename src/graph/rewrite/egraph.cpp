#include "graph/rewrite/egraph.h"

#include "support/check.h"
#include "support/hash.h"

#include <algorithm>

namespace kawara::rewrite {

size_t ENodeHash::operator()(const ENode& node) const {
  uint64_t hash = hash_mix(node.op, node.attributes);
  for (const ClassId operand : node.operands)
    hash = hash_mix(hash, operand);
  return static_cast<size_t>(hash);
}

OpId EGraph::intern_op(const std::string& name) {
  const auto [at, is_new] = op_ids_.emplace(name, static_cast<OpId>(op_names_.size()));
  if (is_new) {
    op_names_.push_back(name);
    const OperatorInfo* info = find_operator_info(name);
    op_commutes_.push_back(info && info->is_commutative);
    by_op_.emplace_back();
  }
  return at->second;
}

std::optional<OpId> EGraph::op_of(const std::string& name) const {
  const auto at = op_ids_.find(name);
  return at == op_ids_.end() ? std::nullopt : std::optional(at->second);
}

AttrsId EGraph::intern(const Attrs& attributes) {
  const auto [at, is_new] =
      attribute_ids_.emplace(text_of(attributes), static_cast<AttrsId>(attributes_.size()));
  if (is_new)
    attributes_.push_back(attributes);
  return at->second;
}

ClassId EGraph::find(ClassId id) const {
  while (parent_[id] != id) {
    parent_[id] = parent_[parent_[id]];
    id = parent_[id];
  }
  return id;
}

ENode EGraph::canonical(ENode node) const {
  for (ClassId& operand : node.operands)
    operand = find(operand);
  // x + y and y + x are one node: IEEE sums and products do not depend on the order of the two.
  if (op_commutes_[node.op])
    std::sort(node.operands.begin(), node.operands.end());
  return node;
}

ClassId EGraph::add_node(ENode node, std::optional<Type> type, bool is_constant,
                         std::optional<double> number) {
  node = canonical(std::move(node));
  if (const auto at = known_.find(node); at != known_.end())
    return find(at->second);
  const auto id = static_cast<ClassId>(classes_.size());
  parent_.push_back(id);
  for (const ClassId operand : node.operands)
    classes_[operand].readers.push_back(id);
  EClass fresh;
  fresh.nodes.push_back(node);
  fresh.type = std::move(type);
  fresh.is_constant = is_constant;
  fresh.number = number;
  classes_.push_back(std::move(fresh));
  by_op_[node.op].push_back(id);
  known_.emplace(std::move(node), id);
  ++node_count_;
  return id;
}

std::optional<ClassId> EGraph::add(const std::string& op, const Attrs& attributes,
                                   std::vector<ClassId> operands) {
  ENode node{intern_op(op), intern(attributes), std::move(operands)};
  node = canonical(std::move(node));
  if (const auto at = known_.find(node); at != known_.end())
    return find(at->second);
  std::vector<Type> types;
  bool is_constant = true;
  for (const ClassId operand : node.operands) {
    const EClass& from = classes_[operand];
    if (!from.type)
      return std::nullopt;
    types.push_back(*from.type);
    is_constant = is_constant && from.is_constant;
  }
  auto type = infer(op, attributes, types, symbols_);
  if (!type)
    return std::nullopt;
  const OperatorInfo* info = find_operator_info(op);
  // Moving equal elements around leaves them equal.
  const bool keeps = info->kind == Kind::Move && node.operands.size() == 1;
  const auto number = keeps ? classes_[node.operands[0]].number : std::nullopt;
  return add_node(std::move(node), std::move(type), is_constant, number);
}

ClassId EGraph::add_opaque(const std::string& name, std::vector<ClassId> operands,
                           std::optional<Type> type, bool is_constant,
                           std::optional<double> number) {
  KAWARA_CHECK(!find_operator_info(name), name + " has a meaning");
  return add_node({intern_op(name), intern({}), std::move(operands)}, std::move(type), is_constant,
                  number);
}

bool EGraph::merge(ClassId a, ClassId b) {
  a = find(a);
  b = find(b);
  if (a == b)
    return true;
  if (!classes_[a].type || !classes_[b].type || *classes_[a].type != *classes_[b].type)
    return false;
  // The older class stays, so that numbers depend on the input alone.
  if (a > b)
    std::swap(a, b);
  parent_[b] = a;
  EClass &into = classes_[a], &from = classes_[b];
  into.nodes.insert(into.nodes.end(), from.nodes.begin(), from.nodes.end());
  into.readers.insert(into.readers.end(), from.readers.begin(), from.readers.end());
  if (!into.number)
    into.number = from.number;
  into.is_constant = into.is_constant || from.is_constant;
  from.nodes.clear();
  from.readers.clear();
  dirty_.push_back(a);
  return true;
}

/// After a class took in another one, nodes that read it may have become equal.
void EGraph::repair(ClassId id) {
  std::vector<ClassId> readers = classes_[id].readers;
  for (ClassId& reader : readers)
    reader = find(reader);
  std::sort(readers.begin(), readers.end());
  readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
  classes_[id].readers = readers;
  for (const ClassId reader : readers) {
    const ClassId owner = find(reader);
    std::vector<ENode> nodes = classes_[owner].nodes;
    for (ENode& node : nodes) {
      known_.erase(node);
      node = canonical(std::move(node));
    }
    std::vector<ENode> kept;
    for (ENode& node : nodes)
      if (std::find(kept.begin(), kept.end(), node) == kept.end())
        kept.push_back(std::move(node));
    classes_[owner].nodes = kept;
    std::vector<ClassId> equal;
    for (const ENode& node : kept) {
      const auto [at, is_new] = known_.emplace(node, owner);
      if (!is_new && find(at->second) != owner)
        equal.push_back(at->second);
    }
    for (const ClassId other : equal)
      merge(owner, other);
  }
}

void EGraph::rebuild() {
  while (!dirty_.empty()) {
    std::vector<ClassId> todo;
    todo.swap(dirty_);
    for (ClassId& id : todo)
      id = find(id);
    std::sort(todo.begin(), todo.end());
    todo.erase(std::unique(todo.begin(), todo.end()), todo.end());
    for (const ClassId id : todo)
      if (find(id) == id)
        repair(id);
  }
  for (auto& list : by_op_)
    list.clear();
  node_count_ = 0;
  for (const ClassId id : classes()) {
    EClass& one = classes_[id];
    std::vector<ENode> kept;
    for (ENode& node : one.nodes) {
      node = canonical(std::move(node));
      if (std::find(kept.begin(), kept.end(), node) == kept.end())
        kept.push_back(node);
    }
    one.nodes = std::move(kept);
    node_count_ += one.nodes.size();
    for (const ENode& node : one.nodes)
      if (by_op_[node.op].empty() || by_op_[node.op].back() != id)
        by_op_[node.op].push_back(id);
    const bool now = std::any_of(one.nodes.begin(), one.nodes.end(), [&](const ENode& node) {
      return !node.operands.empty() &&
             std::all_of(node.operands.begin(), node.operands.end(),
                         [&](ClassId operand) { return classes_[operand].is_constant; });
    });
    one.is_constant = one.is_constant || now;
  }
}

std::vector<ClassId> EGraph::classes() const {
  std::vector<ClassId> all;
  for (ClassId id = 0; id < classes_.size(); ++id)
    if (parent_[id] == id)
      all.push_back(id);
  return all;
}

const std::vector<ClassId>& EGraph::with_op(OpId op) const { return by_op_[op]; }

} // namespace kawara::rewrite
