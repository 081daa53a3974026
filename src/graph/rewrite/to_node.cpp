#include "graph/rewrite/to_node.h"

#include <cmath>

namespace kawara::rewrite {
namespace {

using graph::Node;
using graph::ValueId;
using Integers = std::vector<int64_t>;

Tensor tensor_of(const Integers& values) {
  Tensor tensor(DataType::I64, {static_cast<int64_t>(values.size())});
  for (size_t k = 0; k < values.size(); ++k)
    tensor.set_int(static_cast<int64_t>(k), values[k]);
  return tensor;
}

const Integers& list(const Attrs& attributes, const char* name) {
  return std::get<Integers>(attributes.at(name));
}

/// A shape whose symbols are left to the operator: Reshape computes one extent, Expand keeps the
/// operand's where 1 is asked for.
Integers written_shape(const std::string& op, Integers shape) {
  for (int64_t& extent : shape)
    if (is_symbol(extent))
      extent = op == "Reshape" ? -1 : 1;
  return shape;
}

void write_slice(Node& node, const Attrs& attributes, int64_t opset, const NewConstant& constant) {
  const Integers &starts = list(attributes, "starts"), &counts = list(attributes, "counts"),
                 &steps = list(attributes, "steps");
  Integers from, to, axes, by;
  bool has_steps = false;
  for (size_t k = 0; k < starts.size(); ++k) {
    if (is_symbol(counts[k]))
      continue; // whole
    axes.push_back(static_cast<int64_t>(k));
    from.push_back(starts[k]);
    to.push_back(starts[k] + (counts[k] - 1) * steps[k] + 1);
    by.push_back(steps[k]);
    has_steps = has_steps || steps[k] != 1;
  }
  if (opset < 10) {
    node.attributes = {{"starts", from}, {"ends", to}, {"axes", axes}};
    return;
  }
  for (const Integers* one : {&from, &to, &axes})
    node.inputs.push_back(constant(tensor_of(*one)));
  if (has_steps)
    node.inputs.push_back(constant(tensor_of(by)));
}

void write_clip(Node& node, const Attrs& attributes, const Type& result, int64_t opset,
                const NewConstant& constant) {
  const double low = std::get<double>(attributes.at("min")),
               high = std::get<double>(attributes.at("max"));
  if (opset < 11) {
    if (std::isfinite(low))
      node.attributes["min"] = low;
    if (std::isfinite(high))
      node.attributes["max"] = high;
    return;
  }
  const auto scalar = [&](double value) {
    Tensor tensor(result.elem, {});
    tensor.set_double(0, value);
    return constant(std::move(tensor));
  };
  if (std::isfinite(low) || std::isfinite(high))
    node.inputs.push_back(std::isfinite(low) ? scalar(low) : graph::kAbsent);
  if (std::isfinite(high))
    node.inputs.push_back(scalar(high));
}

graph::Attribute attribute_of(const Attr& attribute) {
  return std::visit([](const auto& value) -> graph::Attribute { return value; }, attribute);
}

} // namespace

Node node_from_term(const std::string& op, const Attrs& attributes,
                    const std::vector<ValueId>& operands, const Type& result, int64_t opset,
                    const NewConstant& constant) {
  Node node;
  node.op = op;
  node.inputs = operands;
  if (op == "Slice") {
    write_slice(node, attributes, opset, constant);
  } else if (op == "Clip") {
    write_clip(node, attributes, result, opset, constant);
  } else if (op == "Reshape" || op == "Expand") {
    node.inputs.push_back(constant(tensor_of(written_shape(op, list(attributes, "shape")))));
  } else {
    for (const auto& [name, value] : attributes)
      node.attributes.emplace(name, attribute_of(value));
    const OperatorInfo* info = find_operator_info(op);
    // Axes are an operand since version 13 of ReduceSum and version 18 of the others.
    if (info->kind == Kind::Reduce && opset >= (op == "ReduceSum" ? 13 : 18)) {
      node.attributes.erase("axes");
      node.inputs.push_back(constant(tensor_of(list(attributes, "axes"))));
    }
    if (op == "MaxPool" && opset < 10)
      node.attributes.erase("dilations"); // which are 1 there
    if (op == "Gemm" && operands.size() == 2 && opset < 11)
      node.inputs.push_back(constant(Tensor(result.elem, {})));
  }
  return node;
}

} // namespace kawara::rewrite
