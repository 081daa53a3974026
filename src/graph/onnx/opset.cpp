#include "graph/onnx/opset.h"

#include "graph/errors.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace kawara::graph {
namespace {

/// Operators that came after the oldest version that is read.
constexpr std::pair<std::string_view, int64_t> kFirstVersions[] = {
    {"HardSwish", 14},
    {"LayerNormalization", 17},
    {"GroupNormalization", 18},
    {"Mish", 18},
    {"Gelu", 20},
    {"Attention", 23},
    {"Swish", 24},
    {"RMSNormalization", 23},
    {"RotaryEmbedding", 23},
};
/// Constants of a type that is not known are given the type of an operand by CastLike, which is of
/// this version.
constexpr int64_t kHasCastLike = 15;
/// Nodes of versions before this broadcast by attributes.
constexpr int64_t kOldest = 7;

int64_t own_opset(const Graph& graph) {
  const auto at = graph.opsets.find("");
  return at == graph.opsets.end() ? 1 : at->second;
}

template <class Visit> void for_each_subgraph(const Node& node, Visit&& visit) {
  for (const auto& [name, attribute] : node.attributes)
    if (const auto* inner = std::get_if<GraphPtr>(&attribute))
      visit(name, **inner);
}

Tensor integers(const std::vector<int64_t>& list, bool is_scalar = false) {
  Tensor tensor(DataType::I64, is_scalar ? Shape{} : Shape{static_cast<int64_t>(list.size())});
  for (size_t k = 0; k < list.size(); ++k)
    tensor.set_int(static_cast<int64_t>(k), list[k]);
  return tensor;
}

Diagnostic has_no_spelling(const Node& node, int64_t from, int64_t to, const std::string& why) {
  return model_error(
      "K0567",
      fmt::format("cannot write `{}` ({}) with operators of version {}", printable(node.name),
                  printable(node.op), to),
      fmt::format("The graph has operators that came with version {}, the file is of "
                  "version {}: {}.",
                  to, from, why),
      "write the graph before the passes: --stage graph");
}

/// Nodes of one graph, changed one after the other.
class Raiser {
public:
  /// `names`: of all values of the model so far; no graph may use those of the graphs around it.
  Raiser(Graph graph, int64_t from, int64_t to, std::set<std::string>& names)
      : graph_(std::move(graph)), from_(from), to_(to), names_(names) {
    for (const Value& value : graph_.values)
      names_.insert(value.name);
  }

  Result<Graph, Diagnostic> run() {
    std::vector<Node> nodes = std::exchange(graph_.nodes, {});
    for (Node& node : nodes) {
      KAWARA_TRY([[maybe_unused]] const Done inner, raise_subgraphs(node));
      const Node asked{node.name, node.op, "", {}, {}, {}};
      why_.clear();
      if (node.domain.empty() || node.domain == "ai.onnx")
        raise(std::move(node));
      else
        add(std::move(node));
      if (!why_.empty())
        return fail(has_no_spelling(asked, from_, to_, why_));
    }
    graph_.opsets[""] = to_;
    return std::move(graph_);
  }

private:
  Result<Done, Diagnostic> raise_subgraphs(Node& node) {
    Attributes raised;
    std::optional<Diagnostic> refused;
    for_each_subgraph(node, [&](const std::string& name, const Graph& inner) {
      if (refused)
        return;
      auto result = Raiser(inner, from_, to_, names_).run();
      if (result)
        raised[name] = std::make_shared<const Graph>(std::move(*result));
      else
        refused = result.error();
    });
    if (refused)
      return fail(*refused);
    for (auto& [name, graph] : raised)
      node.attributes[name] = std::move(graph);
    return Done{};
  }

  bool crosses(int64_t version) const { return from_ < version && version <= to_; }
  void add(Node node) { graph_.nodes.push_back(std::move(node)); }

  ValueId new_value(const Node& node, const std::string& what) {
    std::string name = node.name + "." + what;
    for (int64_t k = 1; !names_.insert(name).second; ++k)
      name = fmt::format("{}.{}_{}", node.name, what, k);
    graph_.values.push_back({name, {}});
    return static_cast<ValueId>(graph_.values.size() - 1);
  }
  ValueId new_constant(const Node& node, const std::string& what, Tensor tensor) {
    const ValueId id = new_value(node, what);
    graph_.initializers[id] = std::move(tensor);
    return id;
  }
  /// A node's only result, as a new value.
  ValueId made_by(const Node& node, const std::string& what, Node maker) {
    const ValueId id = new_value(node, what);
    maker.name = graph_.values[id].name;
    maker.outputs = {id};
    add(std::move(maker));
    return id;
  }
  /// A number of the type of the node's first operand.
  ValueId new_number(const Node& node, const std::string& what, double number) {
    const auto elem = graph_.values[node.inputs[0]].type.elem;
    Tensor tensor(elem.value_or(DataType::F32), {});
    tensor.set_double(0, number);
    const ValueId id = new_constant(node, what, std::move(tensor));
    if (elem)
      return id;
    return made_by(node, what, {"", "CastLike", "", {id, node.inputs[0]}, {}, {}});
  }

  template <class T> std::optional<T> taken(Node& node, const std::string& name) {
    const auto at = node.attributes.find(name);
    if (at == node.attributes.end())
      return std::nullopt;
    const auto* value = std::get_if<T>(&at->second);
    std::optional<T> result = value != nullptr ? std::optional(*value) : std::nullopt;
    node.attributes.erase(at);
    return result;
  }

  /// A list of integers that became an operand.
  void to_operand(Node& node, const std::string& attribute, size_t position) {
    const auto list = taken<std::vector<int64_t>>(node, attribute);
    if (!list)
      return;
    const ValueId id = new_constant(node, attribute, integers(*list));
    if (node.inputs.size() <= position)
      node.inputs.resize(position + 1, kAbsent);
    node.inputs[position] = id;
  }

  void raise(Node node) {
    const std::string& op = node.op;
    if (node.inputs.empty())
      return add(std::move(node));
    if (op == "Softmax" || op == "LogSoftmax" || op == "Hardmax")
      return raise_softmax(std::move(node));
    if (op == "Upsample" || op == "Resize")
      return raise_resize(std::move(node));
    if (op == "Clip" && crosses(11))
      return raise_clip(std::move(node));
    if (op == "GroupNormalization" && crosses(21))
      return raise_group_norm(std::move(node));
    if (op == "Scan" && crosses(9))
      why_ = "a Scan had a dimension for batches before version 9";
    raise_operands(node);
    raise_meaning(node);
    add(std::move(node));
  }

  /// Attributes that became operands.
  void raise_operands(Node& node) {
    const std::string& op = node.op;
    const bool reduces = op.rfind("Reduce", 0) == 0;
    if ((op == "Squeeze" || op == "Unsqueeze" || op == "ReduceSum") ? crosses(13)
                                                                    : reduces && crosses(18))
      to_operand(node, "axes", 1);
    if (op == "Split" && crosses(13))
      to_operand(node, "split", 1);
    if (op == "Split" && crosses(18) && (node.inputs.size() < 2 || node.inputs[1] == kAbsent))
      node.attributes["num_outputs"] = static_cast<int64_t>(node.outputs.size());
    if (op == "Slice" && crosses(10)) {
      to_operand(node, "starts", 1);
      to_operand(node, "ends", 2);
      to_operand(node, "axes", 3);
    }
    if (op == "TopK" && crosses(10))
      node.inputs.push_back(
          new_constant(node, "k", integers({taken<int64_t>(node, "k").value_or(1)})));
    if (op == "Pad" && crosses(11)) {
      to_operand(node, "pads", 1);
      const double value = taken<double>(node, "value").value_or(0);
      node.inputs.push_back(new_number(node, "value", value));
    }
    if (op == "DFT" && crosses(20)) {
      node.inputs.resize(3, kAbsent);
      const int64_t axis = taken<int64_t>(node, "axis").value_or(1);
      node.inputs[2] = new_constant(node, "axis", integers({axis}, true));
    }
  }

  /// The same words with another meaning, and other words for the same.
  void raise_meaning(Node& node) {
    const std::string& op = node.op;
    const auto present = std::count_if(node.outputs.begin(), node.outputs.end(),
                                       [](ValueId id) { return id != kAbsent; });
    if (op == "Dropout" && crosses(12)) {
      taken<double>(node, "ratio");
      if (present > 1 && from_ < 10)
        why_ = "its mask was no bool before version 10";
    }
    if (op == "BatchNormalization" && crosses(14)) {
      if (taken<int64_t>(node, "spatial").value_or(1) == 0)
        why_ = "it normalises each element by itself, as version 9 no longer does";
      if (present > 1)
        why_ = "it returns statistics, as version 14 no longer does";
    }
    if (op == "Scatter" && crosses(11))
      node.op = "ScatterElements";
    if (op == "RoiAlign" && crosses(16))
      node.attributes.emplace("coordinate_transformation_mode", std::string("output_half_pixel"));
    if (op == "GridSample" && crosses(20))
      if (const auto at = node.attributes.find("mode"); at != node.attributes.end())
        if (auto* word = std::get_if<std::string>(&at->second))
          *word = *word == "bilinear" ? "linear" : *word == "bicubic" ? "cubic" : *word;
  }

  /// Before version 13 it ran over all dimensions from the axis on, as one.
  void raise_softmax(Node node) {
    if (!crosses(13))
      return add(std::move(node));
    const int64_t axis = taken<int64_t>(node, "axis").value_or(1);
    const auto& shape = graph_.values[node.inputs[0]].type.shape;
    if (axis == -1 || (shape && axis == static_cast<int64_t>(shape->size()) - 1))
      return add_over_last(std::move(node));
    const ValueId x = node.inputs[0];
    const ValueId sizes = made_by(node, "sizes", {"", "Shape", "", {x}, {}, {}});
    node.inputs = {made_by(node, "rows", {"", "Flatten", "", {x}, {}, {{"axis", axis}}})};
    const std::vector<ValueId> results = node.outputs;
    Node back{node.name + ".back", "Reshape", "", {new_value(node, "result"), sizes}, results, {}};
    node.outputs = {back.inputs[0]};
    add_over_last(std::move(node));
    add(std::move(back));
  }
  void add_over_last(Node node) {
    node.attributes["axis"] = int64_t{-1};
    add(std::move(node));
  }

  void raise_clip(Node node) {
    const auto low = taken<double>(node, "min"), high = taken<double>(node, "max");
    const ValueId first = low ? new_number(node, "min", *low) : kAbsent;
    const ValueId last = high ? new_number(node, "max", *high) : kAbsent;
    node.inputs.resize(1);
    if (low || high)
      node.inputs.push_back(first);
    if (high)
      node.inputs.push_back(last);
    add(std::move(node));
  }

  /// Upsample went; Resize counts positions in another way since version 11, and has scales as its
  /// third operand.
  void raise_resize(Node node) {
    if (node.op == "Resize" ? !crosses(11) : to_ < 10)
      return add(std::move(node));
    ValueId scales = node.inputs.size() > 1 ? node.inputs[1] : kAbsent;
    if (const auto list = taken<std::vector<double>>(node, "scales")) {
      Tensor tensor(DataType::F32, {static_cast<int64_t>(list->size())});
      for (size_t k = 0; k < list->size(); ++k)
        tensor.set_double(static_cast<int64_t>(k), (*list)[k]);
      scales = new_constant(node, "scales", std::move(tensor));
    }
    if (scales == kAbsent)
      why_ = "it has no scales";
    node.op = "Resize";
    node.inputs = {node.inputs[0], kAbsent, scales};
    node.attributes["coordinate_transformation_mode"] = std::string("asymmetric");
    node.attributes["nearest_mode"] = std::string("floor");
    add(std::move(node));
  }

  /// One scale and bias for each group became one for each channel.
  void raise_group_norm(Node node) {
    const auto& shape = graph_.values[node.inputs[0]].type.shape;
    const auto channels = shape && shape->size() > 1 ? (*shape)[1].size : std::nullopt;
    const auto at = node.attributes.find("num_groups");
    const auto* groups = at != node.attributes.end() ? std::get_if<int64_t>(&at->second) : nullptr;
    if (!channels || groups == nullptr || *groups < 1 || node.inputs.size() != 3) {
      why_ = "the number of its channels is not known";
      return add(std::move(node));
    }
    const int64_t each = *channels / *groups;
    const ValueId column = new_constant(node, "column", integers({*groups, 1}));
    const ValueId table = new_constant(node, "table", integers({*groups, each}));
    const ValueId line = new_constant(node, "line", integers({-1}));
    for (size_t k : {1, 2}) {
      const ValueId high =
          made_by(node, "column_of", {"", "Reshape", "", {node.inputs[k], column}, {}, {}});
      const ValueId wide = made_by(node, "table_of", {"", "Expand", "", {high, table}, {}, {}});
      node.inputs[k] = made_by(node, "line_of", {"", "Reshape", "", {wide, line}, {}, {}});
    }
    add(std::move(node));
  }

  Graph graph_;
  int64_t from_, to_;
  std::set<std::string>& names_;
  std::string why_; ///< the node has no newer spelling; empty when it has
};

} // namespace

int64_t needed_opset(const Graph& graph) {
  int64_t needed = own_opset(graph);
  for (const Node& node : graph.nodes) {
    for_each_subgraph(node, [&](const std::string&, const Graph& inner) {
      needed = std::max(needed, needed_opset(inner));
    });
    for (const auto& [op, version] : kFirstVersions)
      if (node.domain.empty() && node.op == op)
        needed = std::max(needed, version);
  }
  return needed;
}

Result<Graph, Diagnostic> with_opset(Graph graph, int64_t version) {
  const int64_t from = own_opset(graph);
  if (version <= from)
    return graph;
  if (from < kOldest)
    return fail(model_error("K0567",
                            fmt::format("cannot write a graph of version {} with operators of "
                                        "version {}",
                                        from, version),
                            fmt::format("Before version {} operators were spelled so that newer "
                                        "ones cannot say the same.",
                                        kOldest),
                            "write the graph before the passes: --stage graph"));
  std::set<std::string> names;
  return Raiser(std::move(graph), from, std::max(version, kHasCastLike), names).run();
}

} // namespace kawara::graph
