#pragma once

#include "graph/graph.h"

#include <initializer_list>
#include <utility>

namespace kawara::graph {

/// Makes a Graph from code, value by value. What is made is well formed as long as values are read
/// after they were made, which is the only way to have their numbers.
class Builder {
public:
  explicit Builder(std::string name, int64_t opset = 17);

  /// An input that the caller will give.
  ValueId input(const std::string& name, DataType type, std::vector<Dim> shape);
  /// A value with known elements.
  ValueId constant(const std::string& name, Tensor tensor);
  /// A list of integers, for shapes and axes.
  ValueId integers(const std::string& name, const std::vector<int64_t>& values);
  /// The only result of an operator. `name` is that of the node and of its result.
  ValueId add(const std::string& op, const std::string& name, std::vector<ValueId> inputs,
              Attributes attributes = {});
  /// As many results as asked for, `name_0`, `name_1`, ...
  std::vector<ValueId> add_many(const std::string& op, const std::string& name,
                                std::vector<ValueId> inputs, size_t outputs,
                                Attributes attributes = {});
  /// Makes a value a result of the graph.
  void output(ValueId value, DataType type, std::vector<Dim> shape);

  const Graph& graph() const { return graph_; }
  Graph take() { return std::move(graph_); }

private:
  ValueId define(const std::string& name);

  Graph graph_;
};

/// Extents that are numbers.
std::vector<Dim> dims_of(const Shape&);

} // namespace kawara::graph
