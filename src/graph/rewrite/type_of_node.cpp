#include "graph/rewrite/from_node.h"

namespace kawara::rewrite {
namespace {

using graph::Attribute;
using graph::Node;

template <class T> const T* typed(const Node& node, const char* name) {
  const auto at = node.attributes.find(name);
  return at == node.attributes.end() ? nullptr : std::get_if<T>(&at->second);
}

/// The standard's number of an element type.
std::optional<DataType> type_from_number(int64_t number) {
  switch (number) {
  case 1:
    return DataType::F32;
  case 6:
    return DataType::I32;
  case 7:
    return DataType::I64;
  case 9:
    return DataType::Bool;
  case 10:
    return DataType::F16;
  case 11:
    return DataType::F64;
  default:
    return std::nullopt;
  }
}

std::optional<Type> pooled(EGraph& egraph, const Node& node, const Type& x) {
  const auto* kernel = typed<std::vector<int64_t>>(node, "kernel_shape");
  const auto* ceil = typed<int64_t>(node, "ceil_mode");
  if (!kernel || (ceil && *ceil != 0) || node.attributes.count("auto_pad") > 0 ||
      node.attributes.count("dilations") > 0)
    return std::nullopt;
  const std::vector<int64_t> ones(kernel->size(), 1), zeros(2 * kernel->size(), 0);
  const auto* strides = typed<std::vector<int64_t>>(node, "strides");
  const auto* pads = typed<std::vector<int64_t>>(node, "pads");
  return infer("MaxPool",
               {{"kernel_shape", *kernel},
                {"strides", strides ? *strides : ones},
                {"pads", pads ? *pads : zeros},
                {"dilations", ones}},
               {x}, egraph.symbols());
}

std::optional<Type> gathered(const Node& node, const Type& x, const std::optional<Type>& indices) {
  const auto* given = typed<int64_t>(node, "axis");
  const auto rank = static_cast<int64_t>(x.shape.size());
  const int64_t axis = !given ? 0 : *given < 0 ? *given + rank : *given;
  if (!indices || axis < 0 || axis >= rank)
    return std::nullopt;
  Type result = x;
  const auto at = result.shape.erase(result.shape.begin() + axis);
  result.shape.insert(at, indices->shape.begin(), indices->shape.end());
  return result;
}

/// What all operands are broadcast to.
std::optional<Shape> broadcast_all(const EGraph& egraph, const std::vector<ClassId>& operands) {
  std::optional<Shape> shape = Shape{};
  for (const ClassId id : operands) {
    const auto& type = egraph.at(id).type;
    shape = type && shape ? broadcast_shapes(*shape, type->shape) : std::nullopt;
  }
  return shape;
}

/// Comparisons, and what connects them; a choice between two values.
std::optional<Type> compared(const EGraph& egraph, const Node& node,
                             const std::vector<ClassId>& operands) {
  const auto shape = broadcast_all(egraph, operands);
  if (!shape)
    return std::nullopt;
  if (node.op == "Where")
    return operands.size() == 3 ? std::optional(Type{egraph.at(operands[1]).type->elem, *shape})
                                : std::nullopt;
  return Type{DataType::Bool, *shape};
}

} // namespace

std::optional<Type> type_of_node(EGraph& egraph, const Node& node, int64_t opset,
                                 const std::vector<ClassId>& operands) {
  if (operands.empty() || !node.domain.empty() || !egraph.at(operands[0]).type)
    return std::nullopt;
  const Type& x = *egraph.at(operands[0]).type;
  if (node.op == "Cast") {
    const auto* to = typed<int64_t>(node, "to");
    const auto elem = to ? type_from_number(*to) : std::nullopt;
    return elem ? std::optional(Type{*elem, x.shape}) : std::nullopt;
  }
  if (node.op == "Shape" && opset < 15)
    return Type{DataType::I64, {static_cast<int64_t>(x.shape.size())}};
  if ((node.op == "GlobalAveragePool" || node.op == "GlobalMaxPool") && x.shape.size() > 2) {
    Type result = x;
    std::fill(result.shape.begin() + 2, result.shape.end(), 1);
    return result;
  }
  if (node.op == "AveragePool" || node.op == "MaxPool")
    return pooled(egraph, node, x);
  for (const char* same : {"Gelu", "HardSwish", "LayerNormalization", "Mish", "Swish"})
    if (node.op == same)
      return x;
  for (const char* by_element : {"Where", "Equal", "Less", "LessOrEqual", "Greater",
                                 "GreaterOrEqual", "Not", "And", "Or", "Xor", "IsNaN", "IsInf"})
    if (node.op == by_element)
      return compared(egraph, node, operands);
  if ((node.op == "Attention" || node.op == "ZeroingAttention") && operands.size() > 2 &&
      x.shape.size() == 4) {
    const auto& values = egraph.at(operands[2]).type;
    if (values && values->shape.size() == 4)
      return Type{x.elem, {x.shape[0], x.shape[1], x.shape[2], values->shape[3]}};
  }
  if (node.op == "Gather" && operands.size() > 1)
    return gathered(node, x, egraph.at(operands[1]).type);
  if (node.op == "LSTM" && operands.size() > 2 && x.shape.size() == 3) {
    const auto& weights = egraph.at(operands[2]).type;
    const auto* layout = typed<int64_t>(node, "layout");
    if (weights && weights->shape.size() == 3 && (!layout || *layout == 0))
      return Type{x.elem, {x.shape[0], weights->shape[0], x.shape[1], weights->shape[2]}};
  }
  return std::nullopt;
}

} // namespace kawara::rewrite
