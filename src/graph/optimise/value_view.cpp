#include "graph/optimise/value_view.h"

#include <algorithm>
#include <array>

namespace kawara::graph::optimise {
namespace {

using Integers = std::vector<int64_t>;
using views::StridedView;

/// Extents that stand for symbols: larger than those of most dimensions, so small that products of
/// two are numbers.
constexpr std::array<int64_t, 10> kPrimes = {10007, 10009, 10037, 10039, 10061,
                                             10067, 10069, 10079, 10091, 10093};

/// A list by attribute, or by a constant operand.
std::optional<Integers> list_of(const Edit& edit, const Node& node, const char* name,
                                size_t operand) {
  if (node.inputs.size() <= operand || node.inputs[operand] == kAbsent)
    return integers_of(node, name);
  const Tensor* tensor = edit.constant(node.inputs[operand]);
  if (!tensor)
    return std::nullopt;
  Integers list;
  for (int64_t k = 0; k < tensor->elements(); ++k)
    list.push_back(tensor->get_int(k));
  return list;
}

std::optional<size_t> axis_in(int64_t axis, size_t rank) {
  axis += axis < 0 ? static_cast<int64_t>(rank) : 0;
  return axis >= 0 && axis < static_cast<int64_t>(rank) ? std::optional(static_cast<size_t>(axis))
                                                        : std::nullopt;
}

std::optional<StridedView> through_transpose(const Node& node, const StridedView& view) {
  Integers order = integers_of(node, "perm");
  if (order.empty())
    for (size_t k = view.dims.size(); k-- > 0;)
      order.push_back(static_cast<int64_t>(k));
  Integers sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t k = 0; k < sorted.size(); ++k)
    if (sorted[k] != static_cast<int64_t>(k))
      return std::nullopt;
  return order.size() == view.dims.size() ? std::optional(views::transposed(view, order))
                                          : std::nullopt;
}

std::optional<StridedView> through_slice(const Edit& edit, const Node& node, StridedView view) {
  const auto starts = list_of(edit, node, "starts", 1), ends = list_of(edit, node, "ends", 2),
             axes = list_of(edit, node, "axes", 3), steps = list_of(edit, node, "steps", 4);
  if (!starts || !ends || !axes || !steps || starts->size() != ends->size())
    return std::nullopt;
  const Shape shape = views::shape_of(view);
  for (size_t k = 0; k < starts->size(); ++k) {
    const auto axis =
        axis_in(k < axes->size() ? (*axes)[k] : static_cast<int64_t>(k), shape.size());
    const int64_t step = k < steps->size() ? (*steps)[k] : 1;
    if (!axis || step < 1)
      return std::nullopt;
    const int64_t extent = shape[*axis];
    const auto place = [extent](int64_t at) {
      return std::clamp<int64_t>(at < 0 ? std::max(at, -extent) + extent : at, 0, extent);
    };
    const int64_t begin = place((*starts)[k]), end = place((*ends)[k]);
    if (end <= begin)
      return std::nullopt;
    const int64_t by = std::min(step, extent);
    auto part = views::cut(view, *axis, begin, by, (end - begin + by - 1) / by);
    if (!part)
      return std::nullopt;
    view = *std::move(part);
  }
  return view;
}

std::optional<StridedView> through_split(const ValueTypes& types, const Node& node, size_t output,
                                         const StridedView& view) {
  const auto axis = axis_in(integer_of(node, "axis", 0), view.dims.size());
  int64_t start = 0;
  for (size_t k = 0; axis && k <= output; ++k) {
    const auto part = extents_of(types, node.outputs[k]);
    if (!part || part->size() != view.dims.size())
      return std::nullopt;
    if (k == output)
      return views::cut(view, *axis, start, 1, (*part)[*axis]);
    start += (*part)[*axis];
  }
  return std::nullopt;
}

/// One index, or several with the same distance.
std::optional<StridedView> through_gather(const Edit& edit, const Node& node, const Shape& result,
                                          const StridedView& view) {
  const auto axis = axis_in(integer_of(node, "axis", 0), view.dims.size());
  const Tensor* given = node.inputs.size() == 2 && node.inputs[1] != kAbsent
                            ? edit.constant(node.inputs[1])
                            : nullptr;
  if (!axis || !given || given->elements() < 1)
    return std::nullopt;
  const int64_t extent = views::shape_of(view)[*axis];
  const auto at = [&](int64_t k) {
    return given->get_int(k) < 0 ? given->get_int(k) + extent : given->get_int(k);
  };
  const int64_t count = given->elements(), step = count > 1 ? at(1) - at(0) : 1;
  for (int64_t k = 0; k < count; ++k)
    if (at(k) != at(0) + k * step || at(k) < 0 || at(k) >= extent)
      return std::nullopt;
  const auto part = views::cut(view, *axis, at(0), step, count);
  return part ? views::reshaped(*part, result) : std::nullopt;
}

/// Nodes from the value up that may be views of their first operand, and which of their outputs it
/// is.
std::vector<std::pair<size_t, size_t>> way_up(const Edit& edit, ValueId& value) {
  std::vector<std::pair<size_t, size_t>> way;
  while (const auto n = edit.maker(value)) {
    const Node& node = edit.node(*n);
    const bool may_be_view =
        node.domain.empty() && !node.inputs.empty() && node.inputs[0] != kAbsent &&
        (node.op == "Reshape" || node.op == "Flatten" || node.op == "Squeeze" ||
         node.op == "Unsqueeze" || node.op == "Transpose" || node.op == "Slice" ||
         node.op == "Split" || node.op == "Expand" || node.op == "Gather" ||
         node.op == "Identity" || node.op == "Cast");
    if (!may_be_view)
      break;
    const auto output = std::find(node.outputs.begin(), node.outputs.end(), value);
    way.emplace_back(*n, static_cast<size_t>(output - node.outputs.begin()));
    value = node.inputs[0];
  }
  return way;
}

} // namespace

std::optional<Shape> extents_of(const ValueTypes& types, ValueId id) {
  const rewrite::Type* type = id == kAbsent ? nullptr : types.of(id);
  if (!type)
    return std::nullopt;
  Shape extents;
  for (const int64_t extent : type->shape) {
    if (!rewrite::is_symbol(extent)) {
      extents.push_back(extent);
      if (extent < 1 || !is_number(extent))
        return std::nullopt;
      continue;
    }
    const auto number = static_cast<size_t>(rewrite::kFirstSymbol - extent);
    if (number >= kPrimes.size())
      return std::nullopt;
    extents.push_back(kPrimes[number]);
  }
  return elements_of(extents) ? std::optional(std::move(extents)) : std::nullopt;
}

void tell_extents(ValueTypes& types, ValueId id, DataType elem, const Shape& extents) {
  rewrite::Type type{elem, extents};
  for (int64_t& extent : type.shape) {
    const auto prime = std::find(kPrimes.begin(), kPrimes.end(), extent);
    if (prime != kPrimes.end())
      extent = rewrite::kFirstSymbol - (prime - kPrimes.begin());
    else if (!is_number(extent))
      return;
  }
  types.tell(id, std::move(type));
}

bool is_number(int64_t extent) {
  return std::none_of(kPrimes.begin(), kPrimes.end(),
                      [&](int64_t prime) { return extent % prime == 0; });
}

std::optional<StridedView> seen_through(const Edit& edit, const ValueTypes& types, const Node& node,
                                        size_t output, const StridedView& view) {
  const auto result = extents_of(types, node.outputs[output]);
  const rewrite::Type *from = types.of(node.inputs[0]), *to = types.of(node.outputs[output]);
  if (!result || !from || !to || from->elem != to->elem)
    return std::nullopt;
  std::optional<StridedView> seen;
  if (is_op(node, "Reshape") || is_op(node, "Flatten") || is_op(node, "Squeeze") ||
      is_op(node, "Unsqueeze"))
    seen = views::reshaped(view, *result);
  else if (is_op(node, "Transpose"))
    seen = through_transpose(node, view);
  else if (is_op(node, "Slice"))
    seen = through_slice(edit, node, view);
  else if (is_op(node, "Split"))
    seen = through_split(types, node, output, view);
  else if (is_op(node, "Expand"))
    seen = views::expanded(view, *result);
  else if (is_op(node, "Gather"))
    seen = through_gather(edit, node, *result, view);
  else if (is_op(node, "Identity") || is_op(node, "Cast"))
    seen = view;
  return seen && views::shape_of(*seen) == *result ? seen : std::nullopt;
}

std::optional<ValueView> view_of(const Edit& edit, const ValueTypes& types, ValueId value) {
  if (!extents_of(types, value))
    return std::nullopt;
  ValueView out;
  out.base = value;
  const auto way = way_up(edit, out.base);
  const auto begin_at = [&](ValueId base) {
    const auto shape = extents_of(types, base);
    out = {base, shape ? views::whole_view(*shape) : StridedView{}, {}};
    return shape.has_value();
  };
  bool is_known = begin_at(out.base);
  for (size_t k = way.size(); k-- > 0;) {
    const auto [n, output] = way[k];
    const Node& node = edit.node(n);
    auto seen = is_known ? seen_through(edit, types, node, output, out.view) : std::nullopt;
    if (!seen) {
      is_known = begin_at(node.outputs[output]);
      continue;
    }
    out.view = *std::move(seen);
    out.through.push_back(n);
  }
  return out;
}

namespace {

/// The list that makes a Reshape of it: an extent with a symbol is copied, or left open.
std::optional<Integers> reshape_list(const Shape& from, const Shape& to) {
  Integers list = to;
  size_t open = 0;
  for (size_t k = 0; k < to.size(); ++k)
    if (!is_number(to[k])) {
      const bool is_copied = k < from.size() && from[k] == to[k];
      list[k] = is_copied ? 0 : -1;
      open += is_copied ? 0 : 1;
    }
  return open <= 1 ? std::optional(list) : std::nullopt;
}

/// Steps as operators.
class ViewOpList {
public:
  explicit ViewOpList(Shape base) : shape_(std::move(base)) {}

  std::optional<std::vector<ViewOp>> of(const views::ViewSteps& steps) && {
    if (!steps.starts.empty()) {
      reshape(steps.split);
      cut(steps);
    }
    if (!steps.order.empty()) {
      reshape(steps.starts.empty() ? steps.split : steps.counts);
      Shape turned;
      for (const int64_t dim : steps.order)
        turned.push_back(shape_[static_cast<size_t>(dim)]);
      add({"Transpose", {steps.order}, turned});
    }
    if (!steps.repeated.empty()) {
      reshape(steps.single);
      expand(steps);
    }
    reshape(steps.result);
    return is_fine_ ? std::optional(std::move(ops_)) : std::nullopt;
  }

private:
  void add(ViewOp op) {
    shape_ = op.result;
    ops_.push_back(std::move(op));
  }

  void reshape(const Shape& wanted) {
    if (wanted == shape_)
      return;
    const auto list = reshape_list(shape_, wanted);
    is_fine_ = is_fine_ && list.has_value();
    if (list)
      add({"Reshape", {*list}, wanted});
  }

  void cut(const views::ViewSteps& steps) {
    Integers starts, ends, axes;
    for (size_t k = 0; k < steps.split.size(); ++k) {
      if (steps.counts[k] == steps.split[k])
        continue;
      is_fine_ = is_fine_ && is_number(steps.split[k]) && is_number(steps.counts[k]);
      starts.push_back(steps.starts[k]);
      ends.push_back(steps.starts[k] + steps.counts[k]);
      axes.push_back(static_cast<int64_t>(k));
    }
    add({"Slice", {starts, ends, axes}, steps.counts});
  }

  void expand(const views::ViewSteps& steps) {
    Integers list;
    for (size_t k = 0; k < steps.repeated.size(); ++k) {
      const bool stays = steps.single[k] == steps.repeated[k];
      is_fine_ = is_fine_ && (stays || is_number(steps.repeated[k]));
      list.push_back(stays ? 1 : steps.repeated[k]);
    }
    add({"Expand", {list}, steps.repeated});
  }

  Shape shape_;
  std::vector<ViewOp> ops_;
  bool is_fine_ = true;
};

} // namespace

std::optional<std::vector<ViewOp>> view_ops(const views::ViewSteps& steps, Shape base) {
  return ViewOpList(std::move(base)).of(steps);
}

bool may_write_views(const Graph& graph) { return version_of(graph) >= 10; }

ValueId write_view(Edit& edit, ValueTypes& types, std::vector<Node>& nodes, ValueId base,
                   const std::vector<ViewOp>& ops, std::string name, ValueId result) {
  const DataType elem = types.of(base)->elem;
  ValueId at = base;
  for (const ViewOp& op : ops) {
    const bool is_last = &op == &ops.back() && result != kAbsent;
    const ValueId id = is_last ? result : edit.add_value(name + "." + op.op);
    Node node{edit.graph().values[id].name, op.op, "", {at}, {id}, {}};
    if (node.op == "Transpose")
      node.attributes["perm"] = op.lists[0];
    else
      for (const Integers& values : op.lists) {
        Tensor list(DataType::I64, {static_cast<int64_t>(values.size())});
        for (size_t k = 0; k < values.size(); ++k)
          list.set_int(static_cast<int64_t>(k), values[k]);
        node.inputs.push_back(edit.add_constant(name + ".list", list));
        types.tell(node.inputs.back(), {DataType::I64, list.shape()});
      }
    tell_extents(types, id, elem, op.result);
    nodes.push_back(std::move(node));
    at = id;
  }
  return at;
}

} // namespace kawara::graph::optimise
