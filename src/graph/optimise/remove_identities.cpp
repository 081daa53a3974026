#include "graph/optimise/edit.h"
#include "graph/optimise/passes.h"

#include <algorithm>
#include <cmath>

namespace kawara::graph::optimise {
namespace {

bool is_ascending(const std::vector<int64_t>& order) {
  return !order.empty() && std::is_sorted(order.begin(), order.end());
}

/// Does the node keep only its first input, and that as it is?
bool is_dropout_at_rest(const Edit& edit, const Node& node) {
  const bool has_mask = node.outputs.size() > 1 && node.outputs[1] != kAbsent;
  const bool trains =
      node.inputs.size() > 2 && node.inputs[2] != kAbsent && edit.number(node.inputs[2]) != 0.0;
  return is_op(node, "Dropout") && !has_mask && !trains && version_of(edit.graph()) >= 7;
}

/// A constant of one element that does not add dimensions to the other operand. Floats know two
/// zeros: only x + -0 and x - 0 are x.
bool is_plain_number(const Edit& edit, ValueId id, double value, ValueId other) {
  const Tensor* tensor = edit.constant(id);
  const auto& declared = edit.graph().values[other].type.shape;
  return edit.number(id) == value &&
         (!is_float(tensor->type()) || std::signbit(*edit.number(id)) == std::signbit(value)) &&
         (tensor->rank() == 0 ||
          (declared && static_cast<size_t>(tensor->rank()) <= declared->size()));
}

/// Does the node add nothing to any side?
bool is_empty_pad(const Edit& edit, const Node& node) {
  if (node.op != "Pad")
    return false;
  const bool is_attribute = node.inputs.size() < 2 || node.inputs[1] == kAbsent;
  const Tensor* tensor = is_attribute ? nullptr : edit.constant(node.inputs[1]);
  std::vector<int64_t> amounts = integers_of(node, "pads");
  for (int64_t k = 0; tensor && k < tensor->elements(); ++k)
    amounts.push_back(tensor->get_int(k));
  return (is_attribute || tensor) && !amounts.empty() &&
         std::all_of(amounts.begin(), amounts.end(), [](int64_t amount) { return amount == 0; });
}

/// The input that the node passes on unchanged.
std::optional<ValueId> passed_on(const Edit& edit, const Node& node) {
  if (!node.domain.empty() || node.inputs.empty() || node.outputs.empty() ||
      node.outputs[0] == kAbsent || node.inputs[0] == kAbsent)
    return std::nullopt;
  if (node.op == "Identity" || is_dropout_at_rest(edit, node) || is_empty_pad(edit, node) ||
      (node.op == "Transpose" && is_ascending(integers_of(node, "perm"))))
    return node.inputs[0];
  if ((node.op == "Concat" || node.op == "Sum" || node.op == "Max" || node.op == "Min" ||
       node.op == "Mean") &&
      node.inputs.size() == 1)
    return node.inputs[0];
  if (node.inputs.size() != 2 || node.inputs[1] == kAbsent)
    return std::nullopt;
  const ValueId a = node.inputs[0], b = node.inputs[1];
  const bool is_product = node.op == "Mul", is_sum = node.op == "Add";
  const double neutral = is_product || node.op == "Div" || node.op == "Pow" ? 1 : is_sum ? -0.0 : 0;
  if ((is_product || is_sum || node.op == "Div" || node.op == "Sub" || node.op == "Pow") &&
      is_plain_number(edit, b, neutral, a))
    return a;
  if ((is_product || is_sum) && is_plain_number(edit, a, neutral, b))
    return b;
  return std::nullopt;
}

/// Two transpositions in a row are one.
void join_transposes(Edit& edit) {
  for (size_t n = 0; n < edit.nodes(); ++n) {
    if (edit.is_removed(n) || !is_op(edit.node(n), "Transpose"))
      continue;
    const Node* before = edit.maker_named(edit.node(n).inputs[0], "Transpose");
    if (!before)
      continue;
    const std::vector<int64_t> first = integers_of(*before, "perm"),
                               second = integers_of(edit.node(n), "perm");
    std::vector<int64_t> both;
    for (const int64_t axis : second)
      if (axis >= 0 && static_cast<size_t>(axis) < first.size())
        both.push_back(first[static_cast<size_t>(axis)]);
    if (both.empty() || both.size() != first.size())
      continue;
    Node joined = edit.node(n);
    joined.inputs[0] = before->inputs[0];
    joined.attributes["perm"] = both;
    edit.set(n, std::move(joined));
  }
}

} // namespace

Graph remove_identities(Graph graph, const Evaluate&) {
  Edit edit(std::move(graph));
  join_transposes(edit);
  for (size_t n = 0; n < edit.nodes(); ++n) {
    const auto from = passed_on(edit, edit.node(n));
    if (!from || edit.is_pinned(edit.node(n).outputs[0]))
      continue;
    edit.replace(edit.node(n).outputs[0], *from);
    edit.remove(n);
  }
  return std::move(edit).done();
}

} // namespace kawara::graph::optimise
