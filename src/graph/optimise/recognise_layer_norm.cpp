#include "graph/optimise/edit.h"
#include "graph/optimise/passes.h"

namespace kawara::graph::optimise {
namespace {

/// The one dimension that the mean is taken over, as the node says it; nothing when it says
/// something else, or leaves the dimension out of its result.
std::optional<int64_t> mean_axis(const Edit& edit, const Node& node) {
  if (!is_op(node, "ReduceMean") || integer_of(node, "keepdims", 1) == 0 ||
      node.inputs[0] == kAbsent)
    return std::nullopt;
  const std::vector<int64_t> axes = integers_of(node, "axes");
  if (node.inputs.size() < 2 || node.inputs[1] == kAbsent)
    return axes.size() == 1 ? std::optional(axes[0]) : std::nullopt;
  const Tensor* given = edit.constant(node.inputs[1]);
  return given && given->elements() == 1 ? std::optional(given->get_int(0)) : std::nullopt;
}

/// Is that the last dimension of the value?
bool is_last(const Edit& edit, std::optional<int64_t> axis, ValueId value) {
  const auto& shape = edit.graph().values[value].type.shape;
  return axis == -1 || (axis && shape && *axis == static_cast<int64_t>(shape->size()) - 1);
}

/// The nodes of (x - mean) / sqrt(mean of squares + epsilon), from the quotient on.
struct Rows {
  ValueId x = kAbsent;
  double epsilon = 0;
  std::vector<size_t> nodes;
};

/// The node that makes the value, if it is `op`; noted.
const Node* step(const Edit& edit, ValueId id, std::string_view op, Rows& rows) {
  const Node* node = id == kAbsent ? nullptr : edit.maker_named(id, op);
  if (node)
    rows.nodes.push_back(*edit.maker(id));
  return node;
}

/// Is the value the square of the other?
bool is_square(const Edit& edit, ValueId id, ValueId of, Rows& rows) {
  if (const Node* power = step(edit, id, "Pow", rows))
    return power->inputs[0] == of && edit.number(power->inputs[1]) == 2;
  const Node* product = step(edit, id, "Mul", rows);
  return product && product->inputs[0] == of && product->inputs[1] == of;
}

std::optional<Rows> rows_at(const Edit& edit, size_t quotient) {
  Rows rows;
  rows.nodes.push_back(quotient);
  const ValueId centred = edit.node(quotient).inputs[0];
  const Node* root = step(edit, edit.node(quotient).inputs[1], "Sqrt", rows);
  const Node* sum = root ? step(edit, root->inputs[0], "Add", rows) : nullptr;
  if (!sum)
    return std::nullopt;
  const size_t number = edit.number(sum->inputs[1]) ? 1 : 0;
  const auto epsilon = edit.number(sum->inputs[number]);
  const Node* variance = step(edit, sum->inputs[1 - number], "ReduceMean", rows);
  const Node* difference = step(edit, centred, "Sub", rows);
  if (!epsilon || !variance || !difference || !is_square(edit, variance->inputs[0], centred, rows))
    return std::nullopt;
  const Node* mean = step(edit, difference->inputs[1], "ReduceMean", rows);
  if (!mean || mean->inputs[0] != difference->inputs[0] ||
      !is_last(edit, mean_axis(edit, *mean), mean->inputs[0]) ||
      mean_axis(edit, *mean) != mean_axis(edit, *variance))
    return std::nullopt;
  rows.x = difference->inputs[0];
  rows.epsilon = *epsilon;
  return rows;
}

/// What the nodes make is read by them alone, except for the result of `last`.
bool is_closed(const Edit& edit, const std::vector<size_t>& nodes, size_t last) {
  const std::set<size_t> inside(nodes.begin(), nodes.end());
  for (const size_t n : inside) {
    if (n == last)
      continue;
    for (const ValueId id : edit.node(n).outputs) {
      if (id == kAbsent)
        continue;
      if (edit.is_pinned(id))
        return false;
      for (const size_t reader : edit.readers(id))
        if (!inside.count(reader))
          return false;
    }
  }
  return true;
}

/// The only reader of the value, if it is `op` with a constant row as its other operand.
std::optional<std::pair<size_t, ValueId>> with_row(const Edit& edit, ValueId id,
                                                   std::string_view op) {
  if (!edit.is_private(id))
    return std::nullopt;
  const size_t reader = edit.readers(id).front();
  const Node& node = edit.node(reader);
  if (!is_op(node, op) || node.inputs.size() != 2)
    return std::nullopt;
  const ValueId row = node.inputs[node.inputs[0] == id ? 1 : 0];
  const Tensor* tensor = edit.constant(row);
  return tensor && tensor->rank() == 1 && tensor->elements() > 1
             ? std::optional(std::pair{reader, row})
             : std::nullopt;
}

} // namespace

Graph recognise_layer_norm(Graph graph, const Evaluate&) {
  Edit edit(std::move(graph));
  for (size_t n = 0; n < edit.nodes(); ++n) {
    if (edit.is_removed(n) || !is_op(edit.node(n), "Div") || edit.node(n).inputs.size() != 2)
      continue;
    auto rows = rows_at(edit, n);
    // The operator has a scale, whose extent says that rows are as long as it.
    const auto scale = rows ? with_row(edit, edit.node(n).outputs[0], "Mul") : std::nullopt;
    if (!scale)
      continue;
    size_t last = scale->first;
    Node node{edit.node(n).name, "LayerNormalization", "", {rows->x, scale->second}, {}, {}};
    rows->nodes.push_back(last);
    const auto shift = with_row(edit, edit.node(last).outputs[0], "Add");
    if (shift &&
        edit.constant(shift->second)->elements() == edit.constant(scale->second)->elements()) {
      node.inputs.push_back(shift->second);
      rows->nodes.push_back(last = shift->first);
    }
    if (!is_closed(edit, rows->nodes, last))
      continue;
    node.attributes = {{"axis", int64_t{-1}}, {"epsilon", rows->epsilon}};
    node.outputs = edit.node(last).outputs;
    for (const size_t member : rows->nodes)
      if (member != last && !edit.is_removed(member))
        edit.remove(member);
    edit.set(last, std::move(node));
  }
  return std::move(edit).done();
}

} // namespace kawara::graph::optimise
