#pragma once

#include "driver/check/reference.h"
#include "driver/model/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

/// Models of one node, run as compiled code and as interpreted programs.
namespace kawara::driver::one_node {

using graph::Attributes;
using graph::DataType;
using graph::Shape;
using graph::Tensor;

template <class T>
Tensor tensor(DataType type, const Shape& shape, const std::vector<T>& elements) {
  Tensor out(type, shape);
  for (int64_t k = 0; k < out.elements(); ++k)
    graph::is_float(type) ? out.set_double(k, static_cast<double>(elements[static_cast<size_t>(k)]))
                          : out.set_int(k, static_cast<int64_t>(elements[static_cast<size_t>(k)]));
  return out;
}
inline Tensor floats(const Shape& shape, const std::vector<double>& elements) {
  return tensor(DataType::F32, shape, elements);
}
inline Tensor integers(const std::vector<int64_t>& elements) {
  return tensor(DataType::I64, {static_cast<int64_t>(elements.size())}, elements);
}
/// Numbers of [-1, 1) in no obvious order.
inline Tensor varied(const Shape& shape, int64_t seed) {
  Tensor out(DataType::F32, shape);
  for (int64_t k = 0; k < out.elements(); ++k)
    out.set_double(k, static_cast<double>((k * 37 + seed * 101 + k * k * 7) % 64) / 32 - 1);
  return out;
}
inline std::vector<double> elements_of(const Tensor& tensor) {
  std::vector<double> elements;
  for (int64_t k = 0; k < tensor.elements(); ++k)
    elements.push_back(tensor.get_double(k));
  return elements;
}

struct Case {
  std::string op;
  Attributes attributes = {};
  std::vector<Tensor> inputs = {}; ///< without elements: left out
  int64_t opset = 22;
  size_t outputs = 1;
  std::string name = "the_node";
};

inline graph::Graph graph_of(const Case& c) {
  graph::Graph graph;
  graph.name = "one_node";
  graph.opsets[""] = c.opset;
  graph::Node node{c.name, c.op, "", {}, {}, c.attributes};
  const auto add = [&](const std::string& name) {
    graph.values.push_back({name, {}});
    return static_cast<graph::ValueId>(graph.values.size() - 1);
  };
  for (size_t k = 0; k < c.inputs.size(); ++k) {
    node.inputs.push_back(c.inputs[k] ? add("x" + std::to_string(k)) : graph::kAbsent);
    if (!c.inputs[k])
      continue;
    std::vector<graph::Dim> dims;
    for (const int64_t extent : c.inputs[k].shape())
      dims.push_back({extent, ""});
    graph.values.back().type = {graph::ValueType::Kind::Tensor, c.inputs[k].type(), dims};
    graph.inputs.push_back(node.inputs.back());
  }
  for (size_t k = 0; k < c.outputs; ++k) {
    node.outputs.push_back(add("y" + std::to_string(k)));
    graph.outputs.push_back(node.outputs.back());
  }
  graph.nodes.push_back(std::move(node));
  return graph;
}

/// Why the node cannot be run; empty when it can.
inline std::string refusal(const Case& c) {
  std::map<std::string, run::Datum> inputs;
  for (size_t k = 0; k < c.inputs.size(); ++k)
    if (c.inputs[k])
      inputs["x" + std::to_string(k)] = {c.inputs[k], false, {}};
  Model model(graph_of(c));
  const auto results = model.run(inputs);
  return results ? "" : render(results.error());
}

/// The node's results, which are the same interpreted.
inline std::vector<Tensor> run(const Case& c) {
  std::map<std::string, run::Datum> inputs;
  std::vector<run::Datum> list;
  for (size_t k = 0; k < c.inputs.size(); ++k)
    if (c.inputs[k]) {
      list.push_back({c.inputs[k], false, {}});
      inputs["x" + std::to_string(k)] = list.back();
    }
  Model model(graph_of(c));
  const auto results = model.run(inputs);
  EXPECT_TRUE(results) << render(results.error());
  const auto meant = interpret(graph_of(c), list, {});
  EXPECT_TRUE(meant) << render(meant.error());
  std::vector<Tensor> out;
  if (!results || !meant)
    return out;
  for (size_t k = 0; k < results->size(); ++k) {
    out.push_back((*results)[k].tensor);
    const Tensor& other = (*meant)[k].tensor;
    EXPECT_EQ(out[k].type(), other.type());
    EXPECT_EQ(out[k].shape(), other.shape());
    for (int64_t i = 0; i < std::min(out[k].elements(), other.elements()); ++i)
      EXPECT_NEAR(out[k].get_double(i), other.get_double(i),
                  1e-5 * (1 + std::abs(other.get_double(i))))
          << "output " << k << ", element " << i;
  }
  return out;
}

inline void expect_elements(const Tensor& got, const std::vector<double>& wanted,
                            double by = 1e-5) {
  ASSERT_EQ(got.elements(), static_cast<int64_t>(wanted.size()));
  for (size_t k = 0; k < wanted.size(); ++k)
    EXPECT_NEAR(got.get_double(static_cast<int64_t>(k)), wanted[k], by) << "element " << k;
}

} // namespace kawara::driver::one_node
