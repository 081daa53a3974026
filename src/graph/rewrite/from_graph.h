#pragma once

#include "graph/graph.h"
#include "graph/rewrite/egraph.h"

#include <map>
#include <vector>

namespace kawara::rewrite {

/// A graph as terms. What rules know is written with its attributes filled in (term.h): Reshape,
/// Flatten, Squeeze and Unsqueeze are Reshape, parts of a Split are Slices. Other nodes, and nodes
/// whose operands' types are not known, stay as they are: one opaque node for the node, one for
/// each of its outputs.
struct Terms {
  EGraph egraph;
  std::map<graph::ValueId, ClassId> classes;  ///< of all values
  std::vector<ENode> originals;               ///< the node that each class began with
  std::map<graph::ValueId, Tensor> constants; ///< initializers, and Constant nodes
};

Terms terms_from_graph(const graph::Graph&);

/// Names of opaque nodes: "Resize#12" for a node, "output#1" for what it makes, "value#7" for an
/// input or a constant.
std::string value_name(graph::ValueId id);
std::string node_name(const std::string& op, size_t node);
std::string output_name(size_t output);
/// The number after `#`.
size_t number_in(const std::string& name);

/// The values that a node reads: its inputs without absent ones, then what its subgraphs capture.
std::vector<graph::ValueId> reads_of(const graph::Node&);

} // namespace kawara::rewrite
