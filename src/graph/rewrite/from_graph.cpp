#include "graph/rewrite/from_graph.h"

#include "graph/rewrite/from_node.h"

#include <algorithm>
#include <cstdlib>

namespace kawara::rewrite {
namespace {

using graph::Graph;
using graph::kAbsent;
using graph::Node;
using graph::ValueId;

/// Larger ones are of no tensor that fits any memory, and their sums would overflow.
constexpr int64_t kLargestExtent = int64_t{1} << 40;

/// The value of all elements of a constant, if they are the same.
std::optional<double> number_of(const Tensor& tensor) {
  constexpr int64_t most = 1 << 16;
  if (tensor.elements() == 0 || tensor.elements() > most)
    return std::nullopt;
  const double first = tensor.get_double(0);
  for (int64_t k = 1; k < tensor.elements(); ++k)
    if (tensor.get_double(k) != first)
      return std::nullopt;
  return first;
}

std::optional<Type> declared(const graph::ValueType& type, Symbols& symbols) {
  if (type.kind != graph::ValueType::Kind::Tensor || !type.elem || !type.shape)
    return std::nullopt;
  Type result{*type.elem, {}};
  for (const graph::Dim& dim : *type.shape) {
    if ((!dim.size && dim.symbol.empty()) ||
        (dim.size && (*dim.size < 0 || *dim.size > kLargestExtent)))
      return std::nullopt;
    result.shape.push_back(dim.size ? *dim.size : symbols.of(dim.symbol));
  }
  return result;
}

class GraphReader {
public:
  explicit GraphReader(const Graph& graph) : graph_(graph) {
    const auto version = graph.opsets.find("");
    opset_ = version == graph.opsets.end() ? 1 : version->second;
  }

  Terms run() {
    for (const ValueId id : graph_.inputs)
      add_input(id);
    for (const graph::Capture& capture : graph_.captures)
      add_input(capture.inner);
    for (const auto& [id, tensor] : graph_.initializers)
      add_constant(id, tensor);
    for (size_t k = 0; k < graph_.nodes.size(); ++k)
      add(graph_.nodes[k], k);
    terms_.egraph.rebuild();
    for (const ClassId id : terms_.egraph.classes())
      terms_.originals.push_back(terms_.egraph.at(id).nodes[0]);
    return std::move(terms_);
  }

private:
  void add_input(ValueId id) {
    terms_.classes[id] = terms_.egraph.add_opaque(
        value_name(id), {}, declared(graph_.values[id].type, terms_.egraph.symbols()), false,
        std::nullopt);
  }

  void add_constant(ValueId id, const Tensor& tensor) {
    terms_.constants[id] = tensor;
    terms_.classes[id] = terms_.egraph.add_opaque(
        value_name(id), {}, Type{tensor.type(), tensor.shape()}, true, number_of(tensor));
  }

  void add(const Node& node, size_t index) {
    if (const auto* value = constant_value(node)) {
      add_constant(node.outputs[0], *value);
      return;
    }
    if (!node.domain.empty() || !add_known(node))
      add_opaque(node, index);
  }

  static const Tensor* constant_value(const Node& node) {
    const auto at = node.attributes.find("value");
    return node.op == "Constant" && node.domain.empty() && node.outputs.size() == 1 &&
                   at != node.attributes.end()
               ? std::get_if<Tensor>(&at->second)
               : nullptr;
  }

  static bool has_output_from(const Node& node, size_t first) {
    return first < node.outputs.size() &&
           std::any_of(node.outputs.begin() + static_cast<std::ptrdiff_t>(first),
                       node.outputs.end(), [](ValueId id) { return id != kAbsent; });
  }

  bool add_known(const Node& node) {
    NodeOperands operands;
    for (const ValueId id : node.inputs) {
      if (id == kAbsent) {
        operands.push_back({});
        continue;
      }
      const ClassId from = terms_.classes.at(id);
      const auto constant = terms_.constants.find(id);
      operands.push_back({from, constant == terms_.constants.end() ? nullptr : &constant->second});
    }
    const auto results = terms_from_node(terms_.egraph, node, opset_, operands);
    if (results.empty() || has_output_from(node, results.size()))
      return false;
    for (size_t k = 0; k < results.size() && k < node.outputs.size(); ++k)
      if (node.outputs[k] != kAbsent)
        terms_.classes[node.outputs[k]] = results[k];
    return true;
  }

  void add_opaque(const Node& node, size_t index) {
    std::vector<ClassId> operands;
    for (const ValueId id : reads_of(node))
      operands.push_back(terms_.classes.at(id));
    const ClassId whole = terms_.egraph.add_opaque(node_name(node.op, index), operands,
                                                   std::nullopt, false, std::nullopt);
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const ValueId id = node.outputs[k];
      if (id == kAbsent)
        continue;
      auto type = declared(graph_.values[id].type, terms_.egraph.symbols());
      if (!type && k == 0)
        type = node.op == "Pad" && node.domain.empty()
                   ? padded(node)
                   : type_of_node(terms_.egraph, node, opset_, operands);
      terms_.classes[id] =
          terms_.egraph.add_opaque(output_name(k), {whole}, std::move(type), false, std::nullopt);
    }
  }

  /// With amounts that are constant, for all dimensions.
  std::optional<Type> padded(const Node& node) const {
    if (node.inputs.size() < 2 || node.inputs[0] == kAbsent || node.inputs[1] == kAbsent ||
        (node.inputs.size() > 3 && node.inputs[3] != kAbsent))
      return std::nullopt;
    std::optional<Type> type = terms_.egraph.at(terms_.classes.at(node.inputs[0])).type;
    const auto amounts = terms_.constants.find(node.inputs[1]);
    if (!type || amounts == terms_.constants.end() ||
        amounts->second.elements() != 2 * static_cast<int64_t>(type->shape.size()))
      return std::nullopt;
    const auto rank = static_cast<int64_t>(type->shape.size());
    for (int64_t k = 0; k < rank; ++k) {
      int64_t& extent = type->shape[static_cast<size_t>(k)];
      const int64_t begin = amounts->second.get_int(k), end = amounts->second.get_int(k + rank);
      if (begin == 0 && end == 0)
        continue;
      if (is_symbol(extent) || std::abs(begin) > kLargestExtent || std::abs(end) > kLargestExtent ||
          extent + begin + end < 0)
        return std::nullopt;
      extent += begin + end;
    }
    return type;
  }

  const Graph& graph_;
  int64_t opset_ = 1;
  Terms terms_;
};

} // namespace

std::string value_name(ValueId id) { return "value#" + std::to_string(id); }
std::string node_name(const std::string& op, size_t node) {
  return op + "#" + std::to_string(node);
}
std::string output_name(size_t output) { return "output#" + std::to_string(output); }
size_t number_in(const std::string& name) { return std::stoul(name.substr(name.rfind('#') + 1)); }

std::vector<ValueId> reads_of(const Node& node) {
  std::vector<ValueId> reads;
  for (const ValueId id : node.inputs)
    if (id != kAbsent)
      reads.push_back(id);
  for (const auto& [name, value] : node.attributes)
    if (const auto* inner = std::get_if<graph::GraphPtr>(&value))
      for (const graph::Capture& capture : (*inner)->captures)
        reads.push_back(capture.outer);
  return reads;
}

Terms terms_from_graph(const Graph& graph) { return GraphReader(graph).run(); }

} // namespace kawara::rewrite
