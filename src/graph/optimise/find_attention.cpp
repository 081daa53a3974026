#include "graph/optimise/find_attention.h"

#include <algorithm>
#include <limits>

namespace kawara::graph::optimise {
namespace {

using rewrite::Type;

/// From here on a score plus this number is this number, whatever sane scores are: the key has no weight.
constexpr double kHidden = -1e37;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class AttentionFinder {
public:
  AttentionFinder(const Edit& edit, const ValueTypes& types) : edit_(edit), types_(types) {}

  std::optional<AttentionParts> at(size_t softmax) {
    const Node& node = edit_.node(softmax);
    if (!is_op(node, "Softmax") || node.inputs[0] == kAbsent || !ends_in_product(node))
      return std::nullopt;
    weights_ = types_.of(node.outputs[0]);
    if (!weights_ || !has_last_axis(node) || !is_float(weights_->elem) ||
        (weights_->shape.size() != 3 && weights_->shape.size() != 4))
      return std::nullopt;
    parts_.gone = {parts_.last, softmax};
    if (!scores_from(node.inputs[0]) || !has_fitting_operands())
      return std::nullopt;
    // Where another mask hides all keys that a query may see, numbers decide how the weight is spread.
    if (parts_.is_causal && least_hiding_ != -kInfinity &&
        (parts_.mask != kAbsent || parts_.chosen != kAbsent))
      return std::nullopt;
    parts_.query = unscaled(parts_.query);
    take_key();
    return parts_;
  }

private:
  static bool is_float(DataType type) {
    return type == DataType::F32 || type == DataType::F64 || type == DataType::F16 ||
           type == DataType::BF16;
  }

  bool ends_in_product(const Node& softmax) {
    const ValueId weights = softmax.outputs[0];
    if (!edit_.is_private(weights))
      return false;
    parts_.last = edit_.readers(weights).front();
    const Node& product = edit_.node(parts_.last);
    if (!is_op(product, "MatMul") || product.inputs[0] != weights)
      return false;
    parts_.value = product.inputs[1];
    return true;
  }

  bool has_last_axis(const Node& softmax) const {
    const int64_t axis =
        integer_of(softmax, "axis", version_of(edit_.graph()) >= 13 ? int64_t{-1} : int64_t{1});
    return axis == -1 || axis == static_cast<int64_t>(weights_->shape.size()) - 1;
  }

  /// Walks from what softmax reads to the product of queries and keys.
  bool scores_from(ValueId id) {
    if (id == kAbsent || !edit_.is_private(id) || !edit_.maker(id) || !is_whole(id))
      return false;
    const size_t n = *edit_.maker(id);
    const Node& node = edit_.node(n);
    parts_.gone.push_back(n);
    if (is_op(node, "MatMul")) {
      parts_.query = node.inputs[0];
      parts_.key = node.inputs[1];
      return true;
    }
    if (const auto x = scaled_operand(node))
      return scores_from(*x);
    if (is_op(node, "Where"))
      return take_choice(node);
    return is_op(node, "Add") && take_mask(node);
  }

  /// Has the value the shape of all scores?
  bool is_whole(ValueId id) const {
    const Type* type = types_.of(id);
    return type && *type == *weights_;
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

  /// There is one mask beside a causal one.
  bool may_take_mask() const { return parts_.mask == kAbsent && parts_.chosen == kAbsent; }

  bool take_mask(const Node& node) {
    if (parts_.scale != 1 || node.inputs.size() != 2) // what is scaled later is another mask
      return false;
    for (const size_t k : {size_t{0}, size_t{1}}) {
      const ValueId mask = node.inputs[1 - k];
      const AttentionParts before = parts_;
      if (spreads(mask, weights_->elem) && leads_to_product(node.inputs[k])) {
        const bool is_causal = is_causal_sum(mask);
        parts_.is_causal = parts_.is_causal || is_causal;
        const bool is_taken = is_causal || may_take_mask();
        if (!is_causal)
          parts_.mask = mask;
        if (is_taken && scores_from(node.inputs[k]))
          return true;
      }
      parts_ = before;
    }
    return false;
  }

  /// Where(c, scores, number) or Where(c, number, scores).
  bool take_choice(const Node& node) {
    if (parts_.scale != 1 || node.inputs.size() != 3 || !spreads(node.inputs[0], DataType::Bool))
      return false;
    for (const size_t k : {size_t{1}, size_t{2}}) {
      const ValueId other = node.inputs[3 - k];
      const auto number = edit_.number(other);
      if (!number || !(*number <= kHidden) || !leads_to_product(node.inputs[k]))
        continue;
      if (is_causal_choice(node.inputs[0], k == 2)) {
        parts_.is_causal = true;
        least_hiding_ = std::max(least_hiding_, *number);
        return scores_from(node.inputs[k]);
      }
      if (!may_take_mask())
        return false;
      parts_.keeps_false = k == 2;
      parts_.chosen = node.inputs[0];
      parts_.otherwise = other;
      return scores_from(node.inputs[k]);
    }
    return false;
  }

  bool leads_to_product(ValueId id) const {
    for (const char* op : {"MatMul", "Mul", "Div"})
      if (id != kAbsent && edit_.maker_named(id, op))
        return edit_.is_private(id) && is_whole(id);
    return false;
  }

  /// Is the value broadcast to the scores without making them larger?
  bool spreads(ValueId id, DataType elem) const {
    const Type* type = id == kAbsent ? nullptr : types_.of(id);
    if (!type || type->elem != elem || type->shape.size() > weights_->shape.size())
      return false;
    const size_t skipped = weights_->shape.size() - type->shape.size();
    for (size_t k = 0; k < type->shape.size(); ++k)
      if (type->shape[k] != 1 && type->shape[k] != weights_->shape[skipped + k])
        return false;
    return true;
  }

  /// Calls `holds(tensor, element, is_later)` for all elements of a constant that has a number for each pair of a query and a key
  /// (as many of both) and is the same for all heads; false when it is none.
  template <class F> bool for_pairs(ValueId id, F holds) const {
    const Tensor* tensor = edit_.constant(id);
    const auto& all = weights_->shape;
    const int64_t rows = all[all.size() - 2], keys = all.back();
    if (!tensor || rows != keys || rewrite::is_symbol(rows) || tensor->elements() != rows * keys ||
        tensor->rank() < 2 || tensor->shape().back() != keys ||
        tensor->shape()[tensor->shape().size() - 2] != rows)
      return false;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < keys; ++j)
        if (!holds(*tensor, i * keys + j, j > i))
          return false;
    return true;
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

  /// No operand is broadcast over batches or heads.
  bool has_fitting_operands() const {
    const size_t outer = weights_->shape.size() - 2;
    for (const ValueId id : {parts_.query, parts_.key, parts_.value}) {
      const Type* type = id == kAbsent ? nullptr : types_.of(id);
      if (!type || type->elem != weights_->elem || type->shape.size() != outer + 2 ||
          !std::equal(type->shape.begin(), type->shape.begin() + static_cast<std::ptrdiff_t>(outer),
                      weights_->shape.begin()))
        return false;
    }
    return types_.of(parts_.value)->shape[outer] == weights_->shape.back() &&
           types_.of(edit_.node(parts_.last).outputs[0]) != nullptr;
  }

  /// The value without products with numbers, which go into the scale.
  ValueId unscaled(ValueId id) {
    while (edit_.is_private(id) && edit_.maker(id)) {
      const auto x = scaled_operand(edit_.node(*edit_.maker(id)));
      if (!x)
        break;
      parts_.gone.push_back(*edit_.maker(id));
      id = *x;
    }
    return id;
  }

  void take_key() {
    parts_.key = unscaled(parts_.key);
    const bool has_batch = weights_->shape.size() == 4;
    const Node* turn =
        transposed(edit_, parts_.key,
                   has_batch ? std::vector<int64_t>{0, 1, 3, 2} : std::vector<int64_t>{0, 2, 1});
    parts_.is_key_transposed = !turn;
    if (!turn)
      return;
    if (edit_.is_private(parts_.key))
      parts_.gone.push_back(*edit_.maker(parts_.key));
    parts_.key = unscaled(turn->inputs[0]);
  }

  const Edit& edit_;
  const ValueTypes& types_;
  const Type* weights_ = nullptr;
  double least_hiding_ = -kInfinity; ///< number that hides later keys
  AttentionParts parts_;
};

} // namespace

std::optional<AttentionParts> find_attention(const Edit& edit, const ValueTypes& types,
                                             size_t softmax) {
  return AttentionFinder(edit, types).at(softmax);
}

const Node* transposed(const Edit& edit, ValueId id, const std::vector<int64_t>& order) {
  const Node* node = id == kAbsent ? nullptr : edit.maker_named(id, "Transpose");
  return node && integers_of(*node, "perm") == order ? node : nullptr;
}

} // namespace kawara::graph::optimise
