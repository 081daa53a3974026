#pragma once

#include "graph/graph.h"

#include <initializer_list>
#include <map>
#include <sstream>
#include <string>

namespace kawara::graph::graph_text {

/// A graph from lines such as "y = Add(a, b)", the values x, x1, x2 of which nobody makes being
/// inputs, and constants given by name. The last line's result is the graph's.
struct Line {
  std::string result, op;
  std::vector<std::string> operands;
  Attributes attributes = {};
};

inline Graph graph_of(const std::vector<Line>& lines,
                      const std::map<std::string, Tensor>& constants,
                      const std::map<std::string, Shape>& inputs) {
  Graph graph;
  graph.name = "hand_made";
  graph.opsets[""] = 17;
  std::map<std::string, ValueId> ids;
  const auto id_of = [&](const std::string& name) {
    if (name.empty())
      return kAbsent;
    const auto [at, is_new] = ids.emplace(name, static_cast<ValueId>(graph.values.size()));
    if (is_new)
      graph.values.push_back({name, {}});
    return at->second;
  };
  for (const auto& [name, shape] : inputs) {
    const ValueId id = id_of(name);
    graph.inputs.push_back(id);
    std::vector<Dim> dims;
    for (const int64_t extent : shape)
      dims.push_back({extent, ""});
    graph.values[id].type = {ValueType::Kind::Tensor, DataType::F32, dims};
  }
  for (const auto& [name, tensor] : constants)
    graph.initializers[id_of(name)] = tensor;
  for (const Line& line : lines) {
    Node node{line.result, line.op, "", {}, {}, line.attributes};
    for (const std::string& operand : line.operands)
      node.inputs.push_back(id_of(operand));
    node.outputs.push_back(id_of(line.result));
    graph.nodes.push_back(std::move(node));
  }
  graph.outputs = graph.nodes.back().outputs;
  return graph;
}

/// Elements 0.25, 0.5, ... in a cycle that never reaches 0.
inline Tensor ramp(const Shape& shape, double step = 0.25) {
  Tensor tensor(DataType::F32, shape);
  for (int64_t k = 0; k < tensor.elements(); ++k)
    tensor.set_double(k, step * static_cast<double>(k % 7 + 1));
  return tensor;
}

inline Tensor number(double value, DataType type = DataType::F32) {
  Tensor tensor(type, {});
  tensor.set_double(0, value);
  return tensor;
}

/// "Conv Relu": the operators in order.
inline std::string ops_of(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes)
    text += (text.empty() ? "" : " ") + node.op;
  return text;
}

} // namespace kawara::graph::graph_text
