#pragma once

#include "graph/rewrite/term.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace kawara::rewrite {

using ClassId = uint32_t;
using OpId = uint32_t;
using AttrsId = uint32_t;

/// An operator applied to classes of equal values.
struct ENode {
  OpId op = 0;
  AttrsId attributes = 0;
  std::vector<ClassId> operands;
  friend bool operator==(const ENode&, const ENode&) = default;
};
struct ENodeHash {
  size_t operator()(const ENode&) const;
};

/// Values that are known to be equal, by the ways to compute them.
struct EClass {
  std::vector<ENode> nodes;
  std::vector<ClassId> readers; ///< classes with a node that reads this one; may repeat
  std::optional<Type> type;     ///< same for all nodes
  bool is_constant = false;     ///< does not depend on the graph's inputs
  std::optional<double> number; ///< the value of all its elements, where that is known
};

/// Terms, with equal ones in one class: hash-consed nodes, a union-find over classes, and
/// congruence (equal operands make equal results), which `rebuild` restores after merging.
class EGraph {
public:
  /// The class of a term of a known operator (term.h); nothing when its operands do not fit.
  std::optional<ClassId> add(const std::string& op, const Attrs& attributes,
                             std::vector<ClassId> operands);
  /// The class of something that rules do not look into; `name` says which.
  ClassId add_opaque(const std::string& name, std::vector<ClassId> operands,
                     std::optional<Type> type, bool is_constant, std::optional<double> number);

  /// Makes two classes one. False, and nothing happens, when their types differ or are not known.
  bool merge(ClassId a, ClassId b);
  void rebuild();

  ClassId find(ClassId id) const;
  ENode canonical(ENode node) const; ///< as it stands in its class after a rebuild
  const EClass& at(ClassId id) const { return classes_[find(id)]; }
  std::vector<ClassId> classes() const;               ///< representatives, ascending
  const std::vector<ClassId>& with_op(OpId op) const; ///< as of the last rebuild
  std::optional<OpId> op_of(const std::string& name) const;
  const std::string& op_name(OpId op) const { return op_names_[op]; }
  const Attrs& attributes(AttrsId id) const { return attributes_[id]; }
  size_t nodes() const {
    return node_count_;
  } ///< distinct, as of the last rebuild, and added since
  Symbols& symbols() { return symbols_; }
  const Symbols& symbols() const { return symbols_; }

private:
  OpId intern_op(const std::string& name);
  AttrsId intern(const Attrs& attributes);
  ClassId add_node(ENode node, std::optional<Type> type, bool is_constant,
                   std::optional<double> number);
  void repair(ClassId id);

  std::vector<EClass> classes_;
  mutable std::vector<ClassId> parent_;
  std::unordered_map<ENode, ClassId, ENodeHash> known_;
  std::vector<ClassId> dirty_;
  std::vector<std::string> op_names_;
  std::vector<bool> op_commutes_;
  std::unordered_map<std::string, OpId> op_ids_;
  std::vector<Attrs> attributes_;
  std::unordered_map<std::string, AttrsId> attribute_ids_;
  std::vector<std::vector<ClassId>> by_op_;
  size_t node_count_ = 0;
  Symbols symbols_;
};

} // namespace kawara::rewrite
