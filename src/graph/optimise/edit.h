#pragma once

#include "graph/graph.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kawara::graph::optimise {

/// A graph that is being changed: who makes a value, who reads it, what is known of it. Nodes keep
/// their numbers until `done`.
class Edit {
public:
  explicit Edit(Graph graph);

  const Graph& graph() const { return graph_; }
  size_t nodes() const { return graph_.nodes.size(); }
  const Node& node(size_t n) const { return graph_.nodes[n]; }
  bool is_removed(size_t n) const { return is_removed_[n]; }

  /// The node that makes the value; nothing for inputs and constants.
  std::optional<size_t> maker(ValueId) const;
  /// The same if it is a standard operator of that name.
  const Node* maker_named(ValueId, std::string_view op) const;
  /// Nodes that read the value, once for each time. Subgraphs and the graph's results are not among
  /// them.
  const std::vector<size_t>& readers(ValueId) const;
  /// Is the value a result of the graph, or read by a subgraph?
  bool is_pinned(ValueId id) const { return pinned_.count(id) > 0; }
  /// Can the value go when its only reader goes?
  bool is_private(ValueId id) const { return !is_pinned(id) && readers(id).size() == 1; }

  const Tensor* constant(ValueId) const;
  /// The number, when the value is a constant of one element.
  std::optional<double> number(ValueId) const;

  ValueId add_constant(const std::string& name, Tensor);
  ValueId add_value(const std::string& name); ///< without a maker yet; the name is made unique
  void add_node(Node node);
  /// A value that is a constant from now on; its maker's other results must not be read.
  void make_constant(ValueId, Tensor);
  /// All nodes that read `old` read `now`. `old` must not be pinned.
  void replace(ValueId old, ValueId now);
  void set(size_t n, Node node); ///< another node in its place
  void remove(size_t n);

  /// The graph without the removed nodes, in an order in which values are made before they are
  /// read.
  Graph done() &&;

private:
  void index();

  Graph graph_;
  std::vector<bool> is_removed_;
  std::vector<std::optional<size_t>> makers_;
  std::vector<std::vector<size_t>> readers_;
  std::set<ValueId> pinned_;
};

/// Attributes of nodes; `otherwise` when there is none, or of another kind.
int64_t integer_of(const Node&, const std::string& name, int64_t otherwise);
double real_of(const Node&, const std::string& name, double otherwise);
std::string word_of(const Node&, const std::string& name, const std::string& otherwise);
std::vector<int64_t> integers_of(const Node&, const std::string& name);

/// Is the node the standard's operator of that name?
bool is_op(const Node&, std::string_view op);
/// Has every node the operands and the result that passes look at? Files may leave out anything;
/// what is missing is refused when the node is planned.
bool has_all_operands(const Graph&);
int64_t version_of(const Graph&); ///< of the standard's operators

} // namespace kawara::graph::optimise
