#include "graph/optimise/edit.h"
#include "graph/optimise/passes.h"

#include <algorithm>

namespace kawara::graph::optimise {
namespace {

/// Results that are larger, and larger than all inputs, are rather computed where they are needed.
constexpr int64_t kMostBytes = int64_t{1} << 20;

template <class T> Tensor list_tensor(DataType type, const std::vector<T>& values) {
  Tensor tensor(type, {static_cast<int64_t>(values.size())});
  for (size_t k = 0; k < values.size(); ++k)
    tensor.set_double(static_cast<int64_t>(k), static_cast<double>(values[k]));
  return tensor;
}

/// The elements of a Constant node.
std::optional<Tensor> constant_of(const Node& node) {
  for (const auto& [name, attribute] : node.attributes) {
    if (const auto* tensor = std::get_if<Tensor>(&attribute); tensor && name == "value")
      return *tensor;
    if (const auto* values = std::get_if<std::vector<double>>(&attribute); values)
      return list_tensor(DataType::F32, *values);
    if (const auto* values = std::get_if<std::vector<int64_t>>(&attribute); values) {
      Tensor tensor(DataType::I64, {static_cast<int64_t>(values->size())});
      for (size_t k = 0; k < values->size(); ++k)
        tensor.set_int(static_cast<int64_t>(k), (*values)[k]);
      return tensor;
    }
    if (const auto* value = std::get_if<double>(&attribute); value)
      return list_tensor(DataType::F32, std::vector<double>{*value}).with_shape({});
    if (const auto* value = std::get_if<int64_t>(&attribute); value) {
      Tensor tensor(DataType::I64, {});
      tensor.set_int(0, *value);
      return tensor;
    }
  }
  return std::nullopt;
}

bool has_subgraph(const Node& node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(), [](const auto& attribute) {
    return std::holds_alternative<GraphPtr>(attribute.second);
  });
}

bool is_random(const Node& node) {
  return node.op.rfind("Random", 0) == 0 || node.op == "Multinomial" || node.op == "Bernoulli" ||
         node.op == "Dropout";
}

} // namespace

Graph fold_constants(Graph graph, const Evaluate& evaluate) {
  Edit edit(std::move(graph));
  std::vector<size_t> folded;
  for (size_t n = 0; n < edit.nodes(); ++n) {
    const Node& node = edit.node(n);
    if (!node.domain.empty() || has_subgraph(node) || is_random(node))
      continue;
    if (node.op == "Constant" && node.outputs.size() == 1) {
      if (auto tensor = constant_of(node)) {
        edit.make_constant(node.outputs[0], *std::move(tensor));
        folded.push_back(n);
      }
      continue;
    }
    std::vector<Tensor> inputs;
    int64_t bytes = 0;
    bool is_known = !node.inputs.empty() && evaluate;
    for (const ValueId id : node.inputs) {
      const Tensor* tensor = id == kAbsent ? nullptr : edit.constant(id);
      is_known = is_known && (tensor || id == kAbsent);
      inputs.push_back(tensor ? *tensor : Tensor());
      bytes += tensor ? tensor->bytes() : 0;
    }
    if (!is_known)
      continue;
    const auto results = evaluate(edit.graph(), node, inputs);
    if (!results || results->size() != node.outputs.size())
      continue;
    bool is_small = true;
    for (size_t k = 0; k < results->size(); ++k)
      if (node.outputs[k] != kAbsent)
        is_small =
            is_small && (*results)[k] && (*results)[k].bytes() <= std::max(bytes, kMostBytes);
    if (!is_small)
      continue;
    for (size_t k = 0; k < results->size(); ++k)
      if (node.outputs[k] != kAbsent)
        edit.make_constant(node.outputs[k], (*results)[k]);
    folded.push_back(n);
  }
  for (const size_t n : folded)
    edit.remove(n);
  return std::move(edit).done();
}

} // namespace kawara::graph::optimise
