#include "graph/rewrite/from_node.h"

#include <algorithm>
#include <limits>
#include <set>

namespace kawara::rewrite {
namespace {

using graph::Node;
using Integers = std::vector<int64_t>;
using Ids = std::vector<ClassId>;

/// Is a stride or an extent of a window beyond all reason? Sums of such numbers would overflow.
bool is_wild(int64_t number) { return number < 0 || number > (1 << 30); }

/// One node of the standard on its way to terms. Functions return no classes for what terms cannot
/// say.
class NodeReader {
public:
  NodeReader(EGraph& egraph, const Node& node, int64_t opset, const NodeOperands& operands)
      : egraph_(egraph), node_(node), opset_(opset), operands_(operands) {}

  Ids run() {
    const std::string& op = node_.op;
    if (operands_.empty() || !has(0) || !shape(0))
      return {};
    const OperatorInfo* info = find_operator_info(op);
    if (op == "Identity" || op == "Dropout")
      return same();
    if (op == "Reshape" || op == "Flatten" || op == "Squeeze" || op == "Unsqueeze")
      return reshape();
    if (op == "Split")
      return split();
    if (op == "Sum" && operands_.size() == 2)
      return term("Add", {});
    if (!info)
      return {};
    if (info->kind == Kind::Binary || op == "MatMul")
      return node_.attributes.empty() ? term(op, {}) : Ids{};
    if (info->kind == Kind::Reduce)
      return reduce();
    if (info->kind == Kind::Unary)
      return unary();
    if (info->kind == Kind::Move)
      return move();
    if (op == "Gemm")
      return term(op, {{"alpha", real("alpha", 1)},
                       {"beta", real("beta", 1)},
                       {"transA", integer("transA", 0) != 0 ? int64_t{1} : int64_t{0}},
                       {"transB", integer("transB", 0) != 0 ? int64_t{1} : int64_t{0}}});
    if (op == "Conv")
      return windows({}, shape(1) ? Shape(shape(1)->begin() + std::min<size_t>(2, shape(1)->size()),
                                          shape(1)->end())
                                  : Shape{});
    if (op == "MaxPool")
      return max_pool();
    if (op == "BatchNormalization")
      return node_.outputs.size() == 1 && integer("training_mode", 0) == 0 && opset_ >= 7 &&
                     integer("spatial", 1) == 1
                 ? term(op, {{"epsilon", real("epsilon", 1e-5F)}})
                 : Ids{};
    return op == "Softmax" ? softmax() : Ids{};
  }

private:
  bool has(size_t k) const { return k < operands_.size() && operands_[k].from; }
  const Shape* shape(size_t k) const {
    if (!has(k))
      return nullptr;
    const auto& type = egraph_.at(*operands_[k].from).type;
    return type ? &type->shape : nullptr;
  }
  const graph::Attribute* attribute(const std::string& name) const {
    const auto at = node_.attributes.find(name);
    return at == node_.attributes.end() ? nullptr : &at->second;
  }
  int64_t integer(const std::string& name, int64_t otherwise) const {
    const auto* given = attribute(name);
    const auto* value = given ? std::get_if<int64_t>(given) : nullptr;
    return value ? *value : otherwise;
  }
  double real(const std::string& name, double otherwise) const {
    const auto* given = attribute(name);
    const auto* value = given ? std::get_if<double>(given) : nullptr;
    return value ? *value : otherwise;
  }
  std::optional<Integers> list(const std::string& name) const {
    const auto* given = attribute(name);
    const auto* value = given ? std::get_if<Integers>(given) : nullptr;
    return value ? std::optional(*value) : std::nullopt;
  }
  /// A list of integers by attribute, or by a constant operand; absent is nothing in `given`.
  struct Given {
    bool is_fine = true;
    std::optional<Integers> list;
  };
  Given given(const std::string& name, size_t operand) const {
    if (!has(operand))
      return {true, list(name)};
    const Tensor* value = operands_[operand].value;
    if (!value)
      return {false, {}};
    Integers all;
    for (int64_t k = 0; k < value->elements(); ++k)
      all.push_back(value->get_int(k));
    return {true, all};
  }
  static std::optional<Integers> axes_of(Integers axes, size_t rank) {
    for (int64_t& axis : axes) {
      axis += axis < 0 ? static_cast<int64_t>(rank) : 0;
      if (axis < 0 || axis >= static_cast<int64_t>(rank))
        return std::nullopt;
    }
    std::sort(axes.begin(), axes.end());
    axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
    return axes;
  }

  Ids same() const {
    const bool has_mask = node_.outputs.size() > 1 && node_.outputs[1] != graph::kAbsent;
    const bool may_train = node_.op == "Dropout" && (has(2) || opset_ < 7);
    return has_mask || may_train ? Ids{} : Ids{*operands_[0].from};
  }

  /// A term of the first `count` operands, all of which must be there.
  Ids term(const std::string& op, const Attrs& attributes, size_t count = ~size_t{0}) {
    Ids from;
    for (size_t k = 0; k < std::min(count, operands_.size()); ++k) {
      if (!has(k)) {
        if (k + 1 == operands_.size())
          break;
        return {};
      }
      from.push_back(*operands_[k].from);
    }
    const auto id = egraph_.add(op, attributes, from);
    return id && node_.outputs.size() == 1 ? Ids{*id} : Ids{};
  }

  Ids unary() {
    if (node_.op == "Clip")
      return clip();
    Attrs attributes;
    if (node_.op == "LeakyRelu")
      attributes["alpha"] = real("alpha", 0.01F);
    if (node_.op == "Elu")
      attributes["alpha"] = real("alpha", 1);
    if (node_.op == "HardSigmoid")
      attributes = {{"alpha", real("alpha", 0.2F)}, {"beta", real("beta", 0.5F)}};
    return term(node_.op, attributes);
  }

  Ids clip() {
    constexpr double inf = std::numeric_limits<double>::infinity();
    double low = real("min", -inf), high = real("max", inf);
    for (const size_t k : {size_t{1}, size_t{2}})
      if (has(k)) {
        const Tensor* value = operands_[k].value;
        if (!value || value->elements() != 1)
          return {};
        (k == 1 ? low : high) = value->get_double(0);
      }
    return term("Clip", {{"min", low}, {"max", high}}, 1);
  }

  Ids reduce() {
    const Given axes = given("axes", 1);
    if (!axes.is_fine)
      return {};
    Integers all;
    if (axes.list && !axes.list->empty()) {
      all = *axes.list;
    } else {
      if (integer("noop_with_empty_axes", 0) != 0)
        return {};
      for (size_t k = 0; k < shape(0)->size(); ++k)
        all.push_back(static_cast<int64_t>(k));
    }
    const auto positive = axes_of(all, shape(0)->size());
    const int64_t keeps = integer("keepdims", 1) != 0 ? 1 : 0;
    return positive ? term(node_.op, {{"axes", *positive}, {"keepdims", keeps}}, 1) : Ids{};
  }

  Ids move() {
    if (node_.op == "Transpose") {
      Integers perm;
      for (size_t k = shape(0)->size(); k-- > 0;)
        perm.push_back(static_cast<int64_t>(k));
      return term("Transpose", {{"perm", list("perm").value_or(perm)}});
    }
    if (node_.op == "Concat") {
      const auto axis = axes_of({integer("axis", 1)}, shape(0)->size());
      return axis ? term("Concat", {{"axis", (*axis)[0]}}) : Ids{};
    }
    if (node_.op == "Slice")
      return slice();
    const Given wanted = given("shape", 1); // Expand
    if (!wanted.list || std::any_of(wanted.list->begin(), wanted.list->end(),
                                    [](int64_t extent) { return extent < 1; }))
      return {};
    const auto result = broadcast_shapes(*shape(0), *wanted.list);
    return result ? term("Expand", {{"shape", *result}}, 1) : Ids{};
  }

  Ids reshape() {
    std::optional<Shape> result;
    if (node_.op == "Reshape")
      result = reshaped();
    else if (node_.op == "Flatten")
      result = flattened();
    else
      result = squeezed();
    return result ? term("Reshape", {{"shape", *result}}, 1) : Ids{};
  }

  std::optional<Shape> reshaped() const {
    const Given wanted = given("shape", 1);
    const bool has_zero =
        wanted.list && std::count(wanted.list->begin(), wanted.list->end(), 0) > 0;
    if (!wanted.list || (has_zero && integer("allowzero", 0) != 0))
      return std::nullopt;
    Shape result = *wanted.list, rest = *shape(0);
    if (std::any_of(result.begin(), result.end(), [](int64_t extent) { return extent < -1; }))
      return std::nullopt;
    size_t open = result.size();
    for (size_t k = 0; k < result.size(); ++k) {
      if (result[k] == 0 && k < shape(0)->size())
        result[k] = (*shape(0))[k];
      if (result[k] == -1)
        open = k;
      else if (is_symbol(result[k])) {
        const auto at = std::find(rest.begin(), rest.end(), result[k]);
        if (at == rest.end())
          return std::nullopt;
        rest.erase(at);
      }
    }
    if (open < result.size() && !close(result, open, rest))
      return std::nullopt;
    return result;
  }

  /// Fills in the extent that the operand's elements leave.
  static bool close(Shape& result, size_t open, const Shape& rest) {
    Shape symbols, numbers, others;
    for (const int64_t extent : rest)
      (is_symbol(extent) ? symbols : numbers).push_back(extent);
    for (size_t k = 0; k < result.size(); ++k)
      if (k != open && !is_symbol(result[k]))
        others.push_back(result[k]);
    const auto have = graph::elements_of(numbers), need = graph::elements_of(others);
    if (!have || !need || *need == 0 || *have % *need != 0 || symbols.size() > 1)
      return false;
    if (symbols.size() == 1 && *have != *need)
      return false;
    result[open] = symbols.empty() ? *have / *need : symbols[0];
    return true;
  }

  std::optional<Shape> flattened() const {
    const Shape& from = *shape(0);
    int64_t axis = integer("axis", 1);
    axis += axis < 0 ? static_cast<int64_t>(from.size()) : 0;
    if (axis < 0 || axis > static_cast<int64_t>(from.size()) ||
        std::any_of(from.begin(), from.end(), is_symbol))
      return std::nullopt;
    const auto rows = graph::elements_of({from.begin(), from.begin() + axis}),
               columns = graph::elements_of({from.begin() + axis, from.end()});
    return rows && columns ? std::optional(Shape{*rows, *columns}) : std::nullopt;
  }

  std::optional<Shape> squeezed() const {
    const Given axes = given("axes", 1);
    const bool adds = node_.op == "Unsqueeze";
    if (!axes.is_fine || (adds && !axes.list))
      return std::nullopt;
    Shape result = *shape(0);
    if (!axes.list) {
      if (std::any_of(result.begin(), result.end(), is_symbol))
        return std::nullopt;
      result.erase(std::remove(result.begin(), result.end(), 1), result.end());
      return result;
    }
    const auto positive = axes_of(*axes.list, result.size() + (adds ? axes.list->size() : 0));
    if (!positive)
      return std::nullopt;
    for (size_t k = 0; k < positive->size(); ++k) {
      const int64_t axis = (*positive)[adds ? k : positive->size() - 1 - k];
      if (adds)
        result.insert(result.begin() + axis, 1);
      else if (result[static_cast<size_t>(axis)] != 1)
        return std::nullopt;
      else
        result.erase(result.begin() + axis);
    }
    return result;
  }

  std::optional<ClassId> sliced(const Integers& starts, const Integers& counts,
                                const Integers& steps) {
    return egraph_.add("Slice", {{"starts", starts}, {"counts", counts}, {"steps", steps}},
                       {*operands_[0].from});
  }

  Ids slice() {
    const Given starts = given("starts", 1), ends = given("ends", 2), axes = given("axes", 3),
                steps = given("steps", 4);
    if (!starts.list || !ends.list || !axes.is_fine || !steps.is_fine ||
        starts.list->size() != ends.list->size())
      return {};
    Integers from(shape(0)->size(), 0), counts = *shape(0), by(shape(0)->size(), 1);
    for (size_t k = 0; k < starts.list->size(); ++k) {
      Integers axis{static_cast<int64_t>(k)};
      if (axes.list && k < axes.list->size())
        axis[0] = (*axes.list)[k];
      const auto at = axes_of(axis, from.size());
      const int64_t extent = at ? (*shape(0))[static_cast<size_t>((*at)[0])] : 0;
      if (!at || is_symbol(extent))
        return {};
      const int64_t given_step = steps.list && k < steps.list->size() ? (*steps.list)[k] : 1;
      const int64_t step = std::min(given_step, std::max<int64_t>(extent, 1));
      if (step < 1)
        return {};
      const auto clamped = [extent](int64_t place) {
        return std::clamp<int64_t>(place < 0 ? place + extent : place, 0, extent);
      };
      const int64_t begin = clamped((*starts.list)[k]);
      const int64_t end = clamped(std::max((*ends.list)[k], -extent - 1));
      const auto axis_at = static_cast<size_t>((*at)[0]);
      from[axis_at] = begin;
      counts[axis_at] = (end - begin + step - 1) / step;
      by[axis_at] = step;
      if (end <= begin)
        return {};
    }
    const auto id = sliced(from, counts, by);
    return id ? Ids{*id} : Ids{};
  }

  Ids split() {
    const auto axes = axes_of({integer("axis", 0)}, shape(0)->size());
    const Given sizes = given("split", 1);
    if (!axes || !sizes.is_fine)
      return {};
    const auto axis = static_cast<size_t>((*axes)[0]);
    const int64_t extent = (*shape(0))[axis];
    const auto parts = static_cast<int64_t>(node_.outputs.size());
    if (is_symbol(extent) || (!sizes.list && extent % parts != 0) ||
        (sizes.list && static_cast<int64_t>(sizes.list->size()) != parts))
      return {};
    Integers starts(shape(0)->size(), 0), counts = *shape(0), steps(shape(0)->size(), 1);
    Ids results;
    for (int64_t k = 0; k < parts; ++k) {
      counts[axis] = sizes.list ? (*sizes.list)[static_cast<size_t>(k)] : extent / parts;
      const auto id = sliced(starts, counts, steps);
      if (!id)
        return {};
      results.push_back(*id);
      starts[axis] += counts[axis];
    }
    return results;
  }

  Ids windows(Attrs attributes, const Shape& kernel) {
    const size_t spatial = kernel.size();
    const auto* padding = attribute("auto_pad");
    const auto* word = padding ? std::get_if<std::string>(padding) : nullptr;
    if (spatial == 0 || shape(0)->size() != spatial + 2 ||
        list("kernel_shape").value_or(kernel) != kernel)
      return {};
    const bool is_known = !word || *word == "NOTSET" || *word == "VALID" || *word == "SAME_UPPER" ||
                          *word == "SAME_LOWER";
    if (!is_known)
      return {};
    const Integers ones(spatial, 1), strides = list("strides").value_or(ones),
                                     dilations = list("dilations").value_or(ones);
    Integers pads = list("pads").value_or(Integers(2 * spatial, 0));
    if (strides.size() != spatial || dilations.size() != spatial ||
        std::any_of(strides.begin(), strides.end(), is_wild) ||
        std::any_of(dilations.begin(), dilations.end(), is_wild) ||
        std::any_of(kernel.begin(), kernel.end(), is_wild))
      return {};
    if (word && *word == "VALID")
      pads.assign(2 * spatial, 0);
    for (size_t k = 0; word && word->rfind("SAME", 0) == 0 && k < spatial; ++k) {
      const int64_t extent = (*shape(0))[k + 2];
      if (is_symbol(extent) || strides[k] < 1)
        return {};
      const int64_t count = (extent + strides[k] - 1) / strides[k];
      const int64_t total = std::max<int64_t>(0, (count - 1) * strides[k] +
                                                     (kernel[k] - 1) * dilations[k] + 1 - extent);
      const int64_t small = total / 2, large = total - small;
      pads.resize(2 * spatial, 0);
      pads[k] = *word == "SAME_UPPER" ? small : large;
      pads[spatial + k] = *word == "SAME_UPPER" ? large : small;
    }
    attributes["strides"] = strides;
    attributes["dilations"] = dilations;
    attributes["pads"] = pads;
    if (node_.op == "Conv")
      attributes["group"] = integer("group", 1);
    return term(node_.op, attributes);
  }

  Ids max_pool() {
    const auto kernel = list("kernel_shape");
    if (!kernel || integer("ceil_mode", 0) != 0 || node_.outputs.size() != 1)
      return {};
    return windows({{"kernel_shape", *kernel}}, *kernel);
  }

  Ids softmax() {
    const auto rank = static_cast<int64_t>(shape(0)->size());
    int64_t axis = integer("axis", opset_ >= 13 ? -1 : 1);
    axis += axis < 0 ? rank : 0;
    // Before version 13 all dimensions from the axis on were one.
    if (opset_ < 13 && axis + 1 != rank)
      return {};
    return term("Softmax", {{"axis", axis}});
  }

  EGraph& egraph_;
  const Node& node_;
  int64_t opset_;
  const NodeOperands& operands_;
};

} // namespace

std::vector<ClassId> terms_from_node(EGraph& egraph, const Node& node, int64_t opset,
                                     const NodeOperands& operands) {
  return NodeReader(egraph, node, opset, operands).run();
}

} // namespace kawara::rewrite
