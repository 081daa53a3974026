#include "graph/rewrite/join_slices.h"

#include <algorithm>
#include <optional>
#include <set>

namespace kawara::rewrite {
namespace {

using graph::Graph;
using graph::Node;
using graph::Tensor;
using graph::ValueId;
using Integers = std::vector<int64_t>;

/// What a Slice takes of its operand when it cuts one dimension only, in steps of 1.
struct Part {
  size_t node = 0;
  int64_t axis = 0, start = 0, end = 0;
};

std::optional<Integers> list_of(const Graph& graph, const Node& node, const char* name, size_t at) {
  if (const auto given = node.attributes.find(name); given != node.attributes.end())
    if (const auto* list = std::get_if<Integers>(&given->second))
      return *list;
  if (at >= node.inputs.size())
    return std::nullopt;
  const auto constant = graph.initializers.find(node.inputs[at]);
  if (constant == graph.initializers.end())
    return std::nullopt;
  Integers all;
  for (int64_t k = 0; k < constant->second.elements(); ++k)
    all.push_back(constant->second.get_int(k));
  return all;
}

std::optional<Part> part_of(const Graph& graph, size_t index) {
  const Node& node = graph.nodes[index];
  if (node.op != "Slice" || !node.domain.empty() || node.inputs.size() > 4)
    return std::nullopt;
  const auto& shape = graph.values[node.inputs[0]].type.shape;
  const auto starts = list_of(graph, node, "starts", 1), ends = list_of(graph, node, "ends", 2),
             axes = list_of(graph, node, "axes", 3);
  if (!shape || !starts || !ends || !axes || starts->size() != axes->size() ||
      ends->size() != axes->size())
    return std::nullopt;
  std::optional<Part> part;
  for (size_t k = 0; k < axes->size(); ++k) {
    const auto axis = static_cast<size_t>((*axes)[k]);
    if (axis >= shape->size() || !(*shape)[axis].size)
      return std::nullopt;
    if ((*starts)[k] == 0 && (*ends)[k] == *(*shape)[axis].size)
      continue;
    if (part || (*starts)[k] < 0 || (*ends)[k] <= (*starts)[k] || (*ends)[k] > *(*shape)[axis].size)
      return std::nullopt;
    part = Part{index, (*axes)[k], (*starts)[k], (*ends)[k]};
  }
  return part;
}

/// Are the parts, in order, all of the dimension?
bool is_whole(const std::vector<Part>& parts, int64_t extent) {
  int64_t next = 0;
  for (const Part& part : parts) {
    if (part.start != next)
      return false;
    next = part.end;
  }
  return next == extent && parts.size() > 1;
}

ValueId add_constant(Graph& graph, std::string name, Tensor tensor) {
  const auto is_taken = [&] {
    return std::any_of(graph.values.begin(), graph.values.end(),
                       [&](const graph::Value& value) { return value.name == name; });
  };
  while (is_taken())
    name += "_";
  const auto id = static_cast<ValueId>(graph.values.size());
  graph.values.push_back({std::move(name), {}});
  graph.initializers.emplace(id, std::move(tensor));
  return id;
}

/// Writes a Split over the first of the parts' nodes.
void write_split(Graph& graph, const std::vector<Part>& parts, size_t at) {
  Node split;
  split.op = "Split";
  split.name = graph.nodes[at].name;
  split.inputs = {graph.nodes[at].inputs[0]};
  split.attributes["axis"] = parts[0].axis;
  Integers sizes;
  for (const Part& part : parts) {
    split.outputs.push_back(graph.nodes[part.node].outputs[0]);
    sizes.push_back(part.end - part.start);
  }
  if (graph.opsets.at("") < 13) {
    split.attributes["split"] = sizes;
  } else {
    Tensor tensor(graph::DataType::I64, {static_cast<int64_t>(sizes.size())});
    for (size_t k = 0; k < sizes.size(); ++k)
      tensor.set_int(static_cast<int64_t>(k), sizes[k]);
    split.inputs.push_back(add_constant(graph, split.name + "_sizes", std::move(tensor)));
  }
  graph.nodes[at] = std::move(split);
}

/// Leaves out what no node and no output reads.
void drop_unread_constants(Graph& graph) {
  std::set<ValueId> read(graph.outputs.begin(), graph.outputs.end());
  for (const Node& node : graph.nodes) {
    read.insert(node.inputs.begin(), node.inputs.end());
    for (const auto& [name, attribute] : node.attributes)
      if (const auto* inner = std::get_if<graph::GraphPtr>(&attribute))
        for (const graph::Capture& capture : (*inner)->captures)
          read.insert(capture.outer);
  }
  std::erase_if(graph.initializers, [&](const auto& one) { return read.count(one.first) == 0; });
}

} // namespace

Graph join_slices(Graph graph) {
  std::map<std::pair<ValueId, int64_t>, std::vector<Part>> groups;
  for (size_t k = 0; k < graph.nodes.size(); ++k)
    if (const auto part = part_of(graph, k))
      groups[{graph.nodes[k].inputs[0], part->axis}].push_back(*part);
  std::set<size_t> gone;
  for (auto& [key, parts] : groups) {
    std::sort(parts.begin(), parts.end(),
              [](const Part& a, const Part& b) { return a.start < b.start; });
    const int64_t extent =
        *(*graph.values[key.first].type.shape)[static_cast<size_t>(key.second)].size;
    if (!is_whole(parts, extent))
      continue;
    size_t first = parts[0].node;
    for (const Part& part : parts)
      first = std::min(first, part.node);
    write_split(graph, parts, first);
    for (const Part& part : parts)
      if (part.node != first)
        gone.insert(part.node);
  }
  if (gone.empty())
    return graph;
  std::vector<Node> kept;
  for (size_t k = 0; k < graph.nodes.size(); ++k)
    if (gone.count(k) == 0)
      kept.push_back(std::move(graph.nodes[k]));
  graph.nodes = std::move(kept);
  drop_unread_constants(graph);
  return graph;
}

} // namespace kawara::rewrite
