#include "driver/plan/call_shapes.h"

#include <array>

namespace kawara::driver {
namespace {

using graph::Node;

bool is_one_of(const std::string& op, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

Shape shape_of_gather(const Node& node, const Shape& data, const Shape& indices) {
  const auto at = node.attributes.find("axis");
  const auto* given = at == node.attributes.end() ? nullptr : std::get_if<int64_t>(&at->second);
  const int64_t axis = run::axis_of(given ? *given : 0, static_cast<int64_t>(data.size()));
  if (axis < 0)
    return {};
  Shape shape(data.begin(), data.begin() + axis);
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), data.begin() + axis + 1, data.end());
  return shape;
}

/// Type and shape of the only result of a run-time function; nothing where they are not that
/// simple.
std::optional<Info> result_of_call(const Node& node, const std::vector<Info>& infos) {
  static constexpr std::array<std::string_view, 13> kLikeFirst = {
      "Acos", "Acosh",    "Asin",    "Asinh",           "Atan",     "Atanh", "Cosh", "Sinh",
      "Tan",  "BitShift", "Scatter", "ScatterElements", "ScatterND"};
  if (!node.domain.empty() || node.inputs.empty() || node.outputs.size() != 1)
    return std::nullopt;
  Info info = infos[node.inputs[0]];
  info.constant = Tensor();
  if (info.is_sequence)
    return std::nullopt;
  if (is_one_of(node.op, kLikeFirst))
    return info;
  if (node.inputs.size() != 2)
    return std::nullopt;
  const Info& second = infos[node.inputs[1]];
  if (node.op == "Gather") {
    const bool has_axis = !info.shape.empty();
    info.shape = shape_of_gather(node, info.shape, second.shape);
    return has_axis ? std::optional(info) : std::nullopt;
  }
  if (node.op == "GatherElements") {
    info.shape = second.shape;
    return info;
  }
  return std::nullopt;
}

} // namespace

std::optional<std::vector<Info>> infos_after_call(const graph::Graph& graph, const Plan& plan) {
  const auto* call = plan.steps.empty() ? nullptr : std::get_if<CallStep>(&plan.steps.back());
  if (!call || plan.asks_for_elements)
    return std::nullopt;
  const Node& node = graph.nodes[call->node];
  const auto result = result_of_call(node, plan.infos);
  if (!result)
    return std::nullopt;
  std::vector<Info> infos = plan.infos;
  infos[node.outputs[0]] = *result;
  return infos;
}

} // namespace kawara::driver
