#include "graph/narrow_floats.h"

#include "graph/errors.h"
#include "scalar/half.h"
#include "support/text.h"

#include <algorithm>
#include <array>
#include <set>

namespace kawara::graph {
namespace {

/// The standard's number of a type, as Cast has it.
int64_t onnx_number(DataType type) {
  return type == DataType::BF16 ? 16 : type == DataType::F16 ? 10 : 1;
}

bool has_no_narrow_form(const Node& node) {
  static constexpr std::array<std::string_view, 4> kRecurrent = {"RNN", "GRU", "LSTM", "Scan"};
  const bool is_quantised = node.op.find("Quantize") != std::string::npos ||
                            node.op.starts_with("QLinear") || node.op.ends_with("Integer");
  const bool has_subgraph =
      std::any_of(node.attributes.begin(), node.attributes.end(), [](const auto& attribute) {
        return std::holds_alternative<GraphPtr>(attribute.second);
      });
  return is_quantised || has_subgraph ||
         std::find(kRecurrent.begin(), kRecurrent.end(), node.op) != kRecurrent.end();
}

Diagnostic no_narrow_form(const Graph& graph, const Node& node, DataType type) {
  return model_error("K0735",
                     "`" + printable(graph.name) + "` cannot run in " + std::string(name_of(type)),
                     "Node `" + printable(node.name) + "` (" + printable(node.op) +
                         ") has no form for narrow floats.",
                     "run it without --type");
}

/// Operands that are f32 whatever the others are: sizes and thresholds, not data.
bool stays_wide(const Node& node, size_t operand) {
  return (node.op == "Resize" && operand > 0) || (node.op == "Upsample" && operand > 0) ||
         (node.op == "Dropout" && operand > 0) || (node.op == "NonMaxSuppression" && operand > 1);
}

Tensor narrowed(const Tensor& wide, DataType type) {
  Tensor out(type, wide.shape());
  if (type == DataType::BF16) { // the usual case, and weights are many
    const auto* from = wide.as<float>();
    auto* to = out.as<uint16_t>();
    for (int64_t k = 0; k < wide.elements(); ++k)
      to[k] = scalar::bf16_bits(static_cast<double>(from[k]));
    return out;
  }
  for (int64_t k = 0; k < wide.elements(); ++k)
    out.set_double(k, wide.get_double(k));
  return out;
}

class Narrower {
public:
  Narrower(Graph graph, DataType type) : graph_(std::move(graph)), type_(type) {}

  Graph run() {
    keep_wide_operands();
    for (Node& node : graph_.nodes)
      change_attributes(node);
    for (auto& [id, tensor] : graph_.initializers)
      if (tensor.type() == DataType::F32 && wide_.count(id) == 0)
        tensor = narrowed(tensor, type_);
    std::set<ValueId> declared(graph_.inputs.begin(), graph_.inputs.end());
    declared.insert(graph_.outputs.begin(), graph_.outputs.end());
    for (ValueId id = 0; id < graph_.values.size(); ++id)
      if (graph_.values[id].type.elem == DataType::F32 && declared.count(id) == 0 &&
          wide_.count(id) == 0)
        graph_.values[id].type.elem = type_;
    std::vector<Node> first;
    for (const ValueId id : graph_.inputs)
      if (graph_.values[id].type.elem == DataType::F32)
        first.push_back(narrow_input(id));
    widen_outputs();
    graph_.nodes.insert(graph_.nodes.begin(), first.begin(), first.end());
    return std::move(graph_);
  }

private:
  ValueId add_value(const std::string& name) {
    std::set<std::string> names;
    for (const Value& value : graph_.values)
      names.insert(value.name);
    std::string unique = name;
    while (names.count(unique))
      unique += "_";
    graph_.values.push_back({unique, {}});
    return static_cast<ValueId>(graph_.values.size() - 1);
  }

  /// Constants that must stay f32 become values of their own where others read them, too.
  void keep_wide_operands() {
    std::set<ValueId> narrow;
    for (const Node& node : graph_.nodes)
      for (size_t k = 0; k < node.inputs.size(); ++k)
        if (node.inputs[k] != kAbsent && !stays_wide(node, k))
          narrow.insert(node.inputs[k]);
    for (Node& node : graph_.nodes)
      for (size_t k = 0; k < node.inputs.size(); ++k) {
        const auto constant = graph_.initializers.find(node.inputs[k]);
        if (!stays_wide(node, k) || constant == graph_.initializers.end())
          continue;
        if (narrow.count(node.inputs[k])) {
          const Tensor elements = constant->second;
          node.inputs[k] = add_value(graph_.values[node.inputs[k]].name + ".f32");
          graph_.initializers[node.inputs[k]] = elements;
        }
        wide_.insert(node.inputs[k]);
      }
  }

  /// Nodes that make f32 unless an attribute says otherwise say so from here on.
  static void spell_out_type(Node& node) {
    const Attribute f32 = onnx_number(DataType::F32);
    if (node.op == "RandomNormal" || node.op == "RandomUniform")
      node.attributes.emplace("dtype", f32);
    if (node.op == "MelWeightMatrix" || node.op == "HannWindow" || node.op == "HammingWindow" ||
        node.op == "BlackmanWindow")
      node.attributes.emplace("output_datatype", f32);
    if (node.op == "ConstantOfShape")
      node.attributes.emplace("value", Tensor(DataType::F32, {1}));
  }

  void change_attributes(Node& node) const {
    spell_out_type(node);
    for (auto& [name, attribute] : node.attributes) {
      auto* number = std::get_if<int64_t>(&attribute);
      if (number && (name == "to" || name == "dtype" || name == "output_datatype") &&
          *number == onnx_number(DataType::F32))
        *number = onnx_number(type_);
      auto* tensor = std::get_if<Tensor>(&attribute);
      if (tensor && *tensor && tensor->type() == DataType::F32)
        *tensor = narrowed(*tensor, type_);
    }
  }

  Node cast(ValueId from, ValueId to, DataType type) const {
    return Node{graph_.values[to].name + ".cast",      "Cast", "", {from}, {to},
                {{"to", Attribute(onnx_number(type))}}};
  }

  Node narrow_input(ValueId id) {
    const ValueId narrow = add_value(graph_.values[id].name + "." + std::string(name_of(type_)));
    for (Node& node : graph_.nodes)
      for (size_t k = 0; k < node.inputs.size(); ++k)
        if (node.inputs[k] == id && !stays_wide(node, k))
          node.inputs[k] = narrow;
    return cast(id, narrow, type_);
  }

  void widen_outputs() {
    std::vector<Node> last;
    for (const ValueId id : std::set<ValueId>(graph_.outputs.begin(), graph_.outputs.end())) {
      const bool is_made =
          std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [&](const Node& node) {
            return std::find(node.outputs.begin(), node.outputs.end(), id) != node.outputs.end();
          });
      if (graph_.values[id].type.elem != DataType::F32 || !is_made)
        continue;
      const ValueId narrow = add_value(graph_.values[id].name + "." + std::string(name_of(type_)));
      for (Node& node : graph_.nodes)
        for (auto* list : {&node.inputs, &node.outputs})
          std::replace(list->begin(), list->end(), id, narrow);
      last.push_back(cast(narrow, id, DataType::F32));
    }
    graph_.nodes.insert(graph_.nodes.end(), last.begin(), last.end());
  }

  Graph graph_;
  DataType type_;
  std::set<ValueId> wide_; ///< constants that stay f32
};

} // namespace

std::optional<Diagnostic> refuse_narrow_floats(const Graph& graph, DataType type) {
  for (const Node& node : graph.nodes)
    if (has_no_narrow_form(node))
      return no_narrow_form(graph, node, type);
  return std::nullopt;
}

Graph with_narrow_floats(Graph graph, DataType type) {
  return Narrower(std::move(graph), type).run();
}

} // namespace kawara::graph
