#pragma once

#include "graph/onnx/tensor_reader.h"

#include <map>
#include <optional>
#include <set>
#include <string>

namespace kawara::graph {

/// Which graph of a file a name belongs to. A subgraph may define names that graphs around it have,
/// too: a name means the innermost definition that comes before the reader in the file; only where
/// there is none, one that comes after it in the innermost graph that has it (files should be
/// sorted, but not all are).
class Scope {
public:
  /// Both must outlive the scope.
  Scope(const ::onnx::GraphProto& graph, const Scope* outer);

  /// From now on questions are asked by the node at this position; by the graph's outputs, for the
  /// number of its nodes.
  void enter(int position) { position_ = position; }

  /// Does the name, as the node reads it, mean a value of this graph? If not, it belongs further
  /// out.
  bool is_own(const std::string& name) const;

  /// Position of the node that makes a value of this graph; none for inputs, initializers, other
  /// graphs'.
  std::optional<int> maker(const std::string& name) const;

  /// Names that the node at `position` and its subgraphs read from this graph or further out.
  /// Enters it.
  std::set<std::string> reads(int position);

private:
  bool is_before(const std::string& name) const;
  void add_reads(const ::onnx::NodeProto& node, std::set<std::string>& names) const;

  const ::onnx::GraphProto& graph_;
  const Scope* outer_;
  std::set<std::string> given_; ///< inputs and initializers
  std::map<std::string, int> makers_;
  int position_ = 0;
};

} // namespace kawara::graph
