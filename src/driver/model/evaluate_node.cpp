#include "driver/model/evaluate_node.h"

#include "driver/model/runner.h"

namespace kawara::driver {
namespace {

/// The node alone in a graph, its inputs constants.
graph::Graph graph_of(const graph::Graph& from, const graph::Node& node,
                      const std::vector<Tensor>& inputs) {
  graph::Graph graph;
  graph.name = node.name;
  graph.opsets = from.opsets;
  graph::Node own = node;
  const auto add = [&](std::string name) {
    graph.values.push_back({std::move(name), {}});
    return static_cast<ValueId>(graph.values.size() - 1);
  };
  for (size_t k = 0; k < own.inputs.size(); ++k)
    if (own.inputs[k] != graph::kAbsent) {
      own.inputs[k] = add("x" + std::to_string(k));
      graph.initializers[own.inputs[k]] = inputs[k];
    }
  for (size_t k = 0; k < own.outputs.size(); ++k)
    if (own.outputs[k] != graph::kAbsent) {
      own.outputs[k] = add("y" + std::to_string(k));
      graph.outputs.push_back(own.outputs[k]);
    }
  graph.nodes.push_back(std::move(own));
  return graph;
}

} // namespace

graph::optimise::Evaluate evaluator(Kernels& kernels) {
  return [&kernels](const graph::Graph& from, const graph::Node& node,
                    const std::vector<Tensor>& inputs) -> std::optional<std::vector<Tensor>> {
    const graph::Graph graph = graph_of(from, node, inputs);
    Runner runner(graph, kernels, PlanOptions{});
    const auto results = runner.run({}, {});
    if (!results)
      return std::nullopt;
    std::vector<Tensor> out;
    size_t next = 0;
    for (const ValueId id : node.outputs) {
      out.emplace_back();
      if (id == graph::kAbsent)
        continue;
      const Datum& datum = (*results)[next++];
      if (datum.is_sequence || !datum.tensor)
        return std::nullopt;
      out.back() = datum.tensor;
    }
    return out;
  };
}

} // namespace kawara::driver
