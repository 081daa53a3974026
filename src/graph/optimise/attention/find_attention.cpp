#include "graph/optimise/attention/find_attention.h"

#include <algorithm>
#include <limits>

namespace kawara::graph::optimise {
namespace {

using rewrite::Type;
using views::StridedView;
using views::Walks;

/// From here on a score plus this number is this number, whatever sane scores are: the key has no
/// weight.
constexpr double kHidden = -1e37;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Shape leading(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }
int64_t count_of(const Shape& shape) { return elements_of(shape).value_or(0); }

/// Exchanges the last two dimensions.
StridedView turned(const StridedView& view) {
  std::vector<int64_t> order;
  for (size_t k = 0; k < view.dims.size(); ++k)
    order.push_back(static_cast<int64_t>(k));
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return views::transposed(view, order);
}

/// Does `holds` say yes to an element of these walks?
template <class F> bool meets(const Walks& walks, int64_t from, const F& holds, size_t at = 0) {
  if (at == walks.size())
    return holds(from);
  const int64_t steps = walks[at].stride == 0 ? 1 : walks[at].extent;
  for (int64_t k = 0; k < steps; ++k)
    if (meets(walks, from + k * walks[at].stride, holds, at + 1))
      return true;
  return false;
}

class AttentionFinder {
public:
  AttentionFinder(const Edit& edit, const ValueTypes& types) : edit_(edit), types_(types) {}

  std::optional<AttentionParts> at(size_t softmax) {
    const Node& node = edit_.node(softmax);
    if (!is_op(node, "Softmax") || node.inputs[0] == kAbsent)
      return std::nullopt;
    const auto scores = extents_of(types_, node.outputs[0]);
    if (!scores || scores->size() < 3 || scores->size() > 6 || !has_last_axis(node, scores->size()))
      return std::nullopt;
    elem_ = types_.of(node.outputs[0])->elem;
    parts_.scores = *scores;
    parts_.gone = {softmax};
    if (!graph::is_float(elem_) || !take_values(node.outputs[0]) || !scores_from(node.inputs[0]))
      return std::nullopt;
    // Where another mask hides all keys that a query may see, numbers decide how the weight is
    // spread.
    const bool has_others = !parts_.masks.empty() || parts_.chosen;
    if (parts_.is_causal && least_hiding_ != -kInfinity && has_others)
      return std::nullopt;
    if (parts_.chosen && !parts_.masks.empty() && edit_.number(parts_.otherwise) != -kInfinity)
      return std::nullopt;
    parts_.zeroes_nan = parts_.zeroes_nan && has_others && !sees_a_key();
    return std::move(parts_);
  }

private:
  int64_t queries() const { return parts_.scores[parts_.scores.size() - 2]; }
  int64_t keys() const { return parts_.scores.back(); }
  int64_t batches() const { return count_of(leading(parts_.scores)); }

  /// Is there one mask, a constant one, that shows each query a key? Then no weight is the quotient
  /// of zeros that the guard is written for.
  bool sees_a_key() const {
    if (parts_.is_causal || parts_.masks.size() + (parts_.chosen ? 1 : 0) != 1)
      return false;
    const ValueView& mask = parts_.chosen ? *parts_.chosen : parts_.masks.front();
    const Tensor* tensor = edit_.constant(mask.base);
    if (!tensor)
      return false;
    const auto is_seen = [&](int64_t element) {
      const double value = tensor->get_double(element);
      return parts_.chosen ? (value != 0) != parts_.keeps_false : value > -kInfinity;
    };
    Walks rows;
    for (const Walks* dim : {&mask.view.dims[0], &mask.view.dims[1]})
      rows.insert(rows.end(), dim->begin(), dim->end());
    return !meets(rows, mask.view.offset,
                  [&](int64_t row) { return !meets(mask.view.dims[2], row, is_seen); });
  }

  bool has_last_axis(const Node& softmax, size_t rank) const {
    const int64_t axis =
        integer_of(softmax, "axis", version_of(edit_.graph()) >= 13 ? int64_t{-1} : int64_t{1});
    return axis == -1 || axis == static_cast<int64_t>(rank) - 1;
  }

  /// Has the value an element for each score, in matrices of queries and keys?
  std::optional<Shape> scores_shape(ValueId id) const {
    const auto shape = extents_of(types_, id);
    const bool fits = shape && types_.of(id)->elem == elem_ && shape->size() >= 3 &&
                      shape->back() == keys() && (*shape)[shape->size() - 2] == queries() &&
                      count_of(leading(*shape)) == batches();
    return fits ? shape : std::nullopt;
  }

  /// Weights that are no numbers, replaced by zeros; the weights then.
  std::optional<ValueId> zeroed(ValueId weights) {
    const std::vector<size_t>& readers = edit_.readers(weights);
    if (edit_.is_pinned(weights) || readers.size() != 2)
      return std::nullopt;
    for (const size_t k : {size_t{0}, size_t{1}}) {
      const Node &test = edit_.node(readers[k]), &choice = edit_.node(readers[1 - k]);
      if (!is_op(test, "IsNaN") || !is_op(choice, "Where") || choice.inputs.size() != 3 ||
          choice.inputs[0] != test.outputs[0] || choice.inputs[2] != weights ||
          edit_.number(choice.inputs[1]) != 0.0 || !edit_.is_private(test.outputs[0]))
        continue;
      parts_.gone.insert(parts_.gone.end(), {readers[0], readers[1]});
      parts_.zeroes_nan = true;
      return choice.outputs[0];
    }
    return std::nullopt;
  }

  /// From the weights down to their product with the values.
  bool take_values(ValueId weights) {
    weights = zeroed(weights).value_or(weights);
    for (;;) {
      const auto shape = scores_shape(weights);
      if (!shape || !edit_.is_private(weights))
        return false;
      const size_t reader = edit_.readers(weights).front();
      const Node& node = edit_.node(reader);
      parts_.gone.push_back(reader);
      if (is_op(node, "MatMul") && node.inputs[0] == weights)
        return take_product(reader, *shape);
      if (!is_op(node, "Reshape") || node.inputs[0] != weights)
        return false;
      weights = node.outputs[0];
    }
  }

  bool take_product(size_t last, const Shape& weights) {
    parts_.last = last;
    const auto result = extents_of(types_, edit_.node(last).outputs[0]);
    if (!result || result->size() < 3 || leading(*result) != leading(weights))
      return false;
    const auto value = operand(edit_.node(last).inputs[1], false);
    if (!value)
      return false;
    parts_.value = *value;
    const auto seen =
        views::reshaped(views::whole_view({batches(), queries(), result->back()}), *result);
    parts_.result = seen.value_or(StridedView{});
    return seen && spread(parts_.value, leading(*result), keys(), result->back());
  }

  /// The view over all batches and heads, which become one dimension.
  bool spread(ValueView& operand, Shape batch, int64_t rows, int64_t columns) const {
    batch.insert(batch.end(), {rows, columns});
    const auto whole = views::expanded(operand.view, batch);
    const auto flat = whole ? views::reshaped(*whole, {batches(), rows, columns}) : std::nullopt;
    if (!flat)
      return false;
    operand.view = *flat;
    return true;
  }

  /// Walks from what softmax reads to the product of queries and keys.
  bool scores_from(ValueId id) {
    const auto shape = id == kAbsent ? std::nullopt : scores_shape(id);
    if (!shape || !edit_.is_private(id) || !edit_.maker(id))
      return false;
    const size_t n = *edit_.maker(id);
    const Node& node = edit_.node(n);
    parts_.gone.push_back(n);
    if (is_op(node, "MatMul"))
      return take_queries(node, *shape);
    if (is_op(node, "Reshape") || is_op(node, "Squeeze") || is_op(node, "Unsqueeze"))
      return scores_from(node.inputs[0]);
    if (const auto x = scaled_operand(node))
      return scores_from(*x);
    if (is_op(node, "Where"))
      return take_choice(node, *shape);
    return is_op(node, "Add") && take_mask(node, *shape);
  }

  bool take_queries(const Node& product, const Shape& shape) {
    auto query = operand(product.inputs[0], true), key = operand(product.inputs[1], true);
    if (!query || !key || query->view.dims.size() < 2 || key->view.dims.size() < 2)
      return false;
    key->view = turned(key->view);
    const int64_t elements = views::shape_of(query->view).back();
    parts_.query = *std::move(query);
    parts_.key = *std::move(key);
    return spread(parts_.query, leading(shape), queries(), elements) &&
           spread(parts_.key, leading(shape), keys(), elements);
  }

  /// The operand that the node multiplies by a number; the number goes into the scale.
  std::optional<ValueId> scaled_operand(const Node& node) {
    const bool is_product = is_op(node, "Mul");
    if ((!is_product && !is_op(node, "Div")) || node.inputs.size() != 2)
      return std::nullopt;
    for (const size_t k : {size_t{1}, size_t{0}}) {
      const auto number = edit_.number(node.inputs[k]);
      if (!number || *number == 0 || (k == 0 && !is_product))
        continue;
      parts_.scale *= is_product ? *number : 1 / *number;
      return node.inputs[1 - k];
    }
    return std::nullopt;
  }

  /// The value as a view; products with numbers on the way go into the scale, where that is asked
  /// for.
  std::optional<ValueView> operand(ValueId id, bool takes_scale) {
    if (id == kAbsent || !types_.of(id) || types_.of(id)->elem != elem_)
      return std::nullopt;
    auto seen = view_of(edit_, types_, id);
    bool is_own = note(seen, edit_.is_private(id));
    while (seen && takes_scale && is_own && edit_.is_private(seen->base) &&
           edit_.maker(seen->base)) {
      const size_t n = *edit_.maker(seen->base);
      const double before = parts_.scale;
      const auto x = scaled_operand(edit_.node(n));
      auto further = x ? view_of(edit_, types_, *x) : std::nullopt;
      if (!further || types_.of(*x)->shape != types_.of(seen->base)->shape ||
          !follow(*further, *seen)) {
        parts_.scale = before;
        break;
      }
      parts_.gone.push_back(n);
      is_own = note(further, edit_.is_private(*x));
      seen = std::move(further);
    }
    return seen;
  }

  /// Sees `above` through the nodes of `below`.
  bool follow(ValueView& above, const ValueView& below) const {
    for (const size_t n : below.through) {
      const Node& node = edit_.node(n);
      auto next = node.outputs.size() == 1 ? seen_through(edit_, types_, node, 0, above.view)
                                           : std::nullopt;
      if (!next)
        return false;
      above.view = *std::move(next);
    }
    return true;
  }

  /// Nodes of the view that nobody else reads go; whether that holds for all.
  bool note(const std::optional<ValueView>& seen, bool is_own) {
    for (size_t k = seen ? seen->through.size() : 0; is_own && k-- > 0;) {
      const Node& node = edit_.node(seen->through[k]);
      if (node.outputs.size() != 1)
        return false;
      parts_.gone.push_back(seen->through[k]);
      is_own = edit_.is_private(node.inputs[0]);
    }
    return is_own;
  }

  /// The value broadcast to scores of this shape, without making them larger.
  std::optional<ValueView> mask_over(ValueId id, DataType elem, const Shape& shape) const {
    const Type* type = id == kAbsent ? nullptr : types_.of(id);
    auto mask = type && type->elem == elem ? view_of(edit_, types_, id) : std::nullopt;
    return mask && spread(*mask, leading(shape), queries(), keys()) ? mask : std::nullopt;
  }

  bool take_mask(const Node& node, const Shape& shape) {
    if (parts_.scale != 1 || node.inputs.size() != 2) // what is scaled later is another mask
      return false;
    for (const size_t k : {size_t{0}, size_t{1}}) {
      const ValueId mask = node.inputs[1 - k];
      const AttentionParts before = parts_;
      auto spread_mask = mask_over(mask, elem_, shape);
      if (spread_mask && leads_to_product(node.inputs[k])) {
        const bool is_causal = is_causal_sum(mask);
        parts_.is_causal = parts_.is_causal || is_causal;
        if (!is_causal && !is_zero(mask))
          parts_.masks.push_back(*std::move(spread_mask));
        if (scores_from(node.inputs[k]))
          return true;
      }
      parts_ = before;
    }
    return false;
  }

  /// Where(c, scores, number) or Where(c, number, scores).
  bool take_choice(const Node& node, const Shape& shape) {
    if (parts_.scale != 1 || node.inputs.size() != 3)
      return false;
    auto chosen = mask_over(node.inputs[0], DataType::Bool, shape);
    for (const size_t k : {size_t{1}, size_t{2}}) {
      const ValueId other = node.inputs[3 - k];
      const auto number = edit_.number(other);
      if (!chosen || !number || !(*number <= kHidden) || !leads_to_product(node.inputs[k]))
        continue;
      if (is_causal_choice(node.inputs[0], k == 2)) {
        parts_.is_causal = true;
        least_hiding_ = std::max(least_hiding_, *number);
        return scores_from(node.inputs[k]);
      }
      if (parts_.chosen)
        return false;
      parts_.keeps_false = k == 2;
      parts_.chosen = std::move(chosen);
      parts_.otherwise = other;
      return scores_from(node.inputs[k]);
    }
    return false;
  }

  bool leads_to_product(ValueId id) const {
    for (const char* op : {"MatMul", "Mul", "Div", "Add", "Reshape", "Squeeze", "Unsqueeze"})
      if (id != kAbsent && edit_.maker_named(id, op))
        return edit_.is_private(id) && scores_shape(id);
    return false;
  }

  /// Calls `holds(tensor, element, is_later)` for all elements of a constant that has a number for
  /// each pair of a query and a key (as many of both), once or for each batch or head; false when
  /// it is none.
  template <class F> bool for_pairs(ValueId id, F holds) const {
    const Tensor* tensor = edit_.constant(id);
    const int64_t rows = queries();
    if (!tensor || rows != keys() || !is_number(rows) || tensor->elements() == 0 ||
        tensor->rank() < 2 || tensor->shape().back() != rows ||
        tensor->shape()[tensor->shape().size() - 2] != rows)
      return false;
    for (int64_t element = 0; element < tensor->elements(); ++element)
      if (!holds(*tensor, element, element % rows > element / rows % rows))
        return false;
    return true;
  }

  /// Does the mask hide nothing?
  bool is_zero(ValueId id) const {
    const Tensor* tensor = edit_.constant(id);
    for (int64_t k = 0; tensor && k < tensor->elements(); ++k)
      if (tensor->get_double(k) != 0)
        return false;
    return tensor != nullptr;
  }

  bool is_causal_sum(ValueId id) {
    double least = -kInfinity;
    const bool is_causal = for_pairs(id, [&](const Tensor& tensor, int64_t element, bool is_later) {
      const double value = tensor.get_double(element);
      least = is_later ? std::max(least, value) : least;
      return is_later ? value <= kHidden : value == 0;
    });
    least_hiding_ = is_causal ? std::max(least_hiding_, least) : least_hiding_;
    return is_causal;
  }
  bool is_causal_choice(ValueId id, bool keeps_false) const {
    return for_pairs(id, [&](const Tensor& tensor, int64_t element, bool is_later) {
      return ((tensor.get_double(element) != 0) != keeps_false) != is_later;
    });
  }

  const Edit& edit_;
  const ValueTypes& types_;
  DataType elem_ = DataType::F32;
  double least_hiding_ = -kInfinity; ///< number that hides later keys
  AttentionParts parts_;
};

} // namespace

std::optional<AttentionParts> find_attention(const Edit& edit, const ValueTypes& types,
                                             size_t softmax) {
  return AttentionFinder(edit, types).at(softmax);
}

} // namespace kawara::graph::optimise
