#include "graph/optimise/attention/attention_form.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

namespace kawara::graph::optimise {
namespace {

using views::StridedView;
using views::Walks;

int64_t product(const Shape& extents, size_t begin, size_t end) {
  return std::accumulate(extents.begin() + static_cast<std::ptrdiff_t>(begin),
                         extents.begin() + static_cast<std::ptrdiff_t>(end), int64_t{1},
                         std::multiplies<>());
}

/// Does the view see one element only along all of these dimensions, or along none?
enum class Spread : uint8_t { None, Whole, Mixed };
Spread spread_of(const StridedView& view, size_t begin, size_t end) {
  size_t single = 0;
  for (size_t k = begin; k < end; ++k)
    single += std::all_of(view.dims[k].begin(), view.dims[k].end(),
                          [](const views::Walk& walk) { return walk.stride == 0; });
  return single == end - begin ? Spread::None : single == 0 ? Spread::Whole : Spread::Mixed;
}

/// Dimensions joined to one.
Walks joined(const StridedView& view, size_t begin, size_t end) {
  Walks walks;
  for (size_t k = begin; k < end; ++k)
    walks.insert(walks.end(), view.dims[k].begin(), view.dims[k].end());
  return views::merged(walks);
}

class FormFinder {
public:
  FormFinder(const Edit& edit, const ValueTypes& types, const AttentionParts& parts)
      : edit_(edit), types_(types), parts_(parts) {}

  std::optional<AttentionForm> best() {
    if (!cut_batches())
      return std::nullopt;
    walk_down();
    std::optional<AttentionForm> best;
    Effort least;
    for (const bool is_flat : {true, false})
      for (size_t first = 0; first + group_ <= atoms_.size(); ++first) {
        effort_ = {};
        auto form = form_of(is_flat, first);
        if (!form || (best && effort_ >= least))
          continue;
        least = effort_;
        best = std::move(form);
      }
    return best;
  }

private:
  /// Operators that move elements, and all that operands and the result need.
  struct Effort {
    size_t moves = 0, operators = 0;
    friend auto operator<=>(const Effort&, const Effort&) = default;
  };

  /// Brings batches and heads to the finest dimensions along which each operand has one stride.
  bool cut_batches() {
    query_ = parts_.query.view;
    key_ = parts_.key.view;
    value_ = parts_.value.view;
    for (const ValueView& mask : parts_.masks)
      masks_.push_back(mask.view);
    if (parts_.chosen)
      masks_.push_back(parts_.chosen->view);
    std::vector<StridedView*> all{&query_, &key_, &value_};
    for (StridedView& mask : masks_)
      all.push_back(&mask);
    const Shape given(parts_.scores.begin(), parts_.scores.end() - 2);
    std::set<int64_t, std::greater<>> inner; // elements inside of a cut
    int64_t total = product(given, 0, given.size());
    const auto add = [&](int64_t extent, int64_t& left) { inner.insert(left /= extent); };
    int64_t left = total;
    for (const int64_t extent : given)
      add(extent, left);
    for (const StridedView* view : all) {
      left = total;
      for (const views::Walk& walk : view->dims[0])
        add(walk.extent, left);
    }
    for (const int64_t elements : inner) {
      if (elements == total)
        continue;
      if (total % elements != 0)
        return false;
      atoms_.push_back(total / elements);
      total = elements;
    }
    for (StridedView* view : all) {
      Shape shape = atoms_;
      const Shape own = views::shape_of(*view);
      shape.insert(shape.end(), own.begin() + 1, own.end());
      const auto cut = views::reshaped(*view, shape);
      if (!cut)
        return false;
      *view = *cut;
    }
    // Innermost, where one head of keys and values is seen by several of queries.
    const auto is_repeated = [&](size_t k) {
      return spread_of(key_, k, k + 1) == Spread::None &&
             spread_of(value_, k, k + 1) == Spread::None;
    };
    while (group_ < atoms_.size() && is_repeated(atoms_.size() - 1 - group_))
      ++group_;
    return true;
  }

  /// Nodes behind the product that only give its result another form.
  void walk_down() {
    ValueId at = edit_.node(parts_.last).outputs[0];
    while (edit_.is_private(at)) {
      const size_t reader = edit_.readers(at).front();
      const Node& node = edit_.node(reader);
      const auto shape = extents_of(types_, at);
      if (node.outputs.size() != 1 || node.inputs.empty() || node.inputs[0] != at || !shape ||
          !seen_through(edit_, types_, node, 0, views::whole_view(*shape)))
        break;
      behind_.push_back(reader);
      at = node.outputs[0];
    }
  }

  std::optional<FormedOperand> formed(const ValueView& operand, StridedView view) {
    const auto base = extents_of(types_, operand.base);
    const auto steps = views::steps_of(view);
    auto ops = steps && base ? view_ops(*steps, *base) : std::nullopt;
    if (!ops)
      return std::nullopt;
    if (!edit_.constant(operand.base)) // constants are brought into form once
      effort_ = {effort_.moves + steps->moves(), effort_.operators + ops->size()};
    return FormedOperand{operand.base, *std::move(ops), steps->result};
  }

  /// [batch, heads, rows, elements], or with rows before heads and elements.
  std::optional<FormedOperand> rows_of(const ValueView& operand, const StridedView& view,
                                       size_t first, size_t last, bool is_flat) {
    const size_t n = atoms_.size();
    const Walks batch = joined(view, 0, first), heads = joined(view, first, last);
    StridedView out{view.base_elements, view.offset, {batch}};
    if (!is_flat) {
      out.dims.insert(out.dims.end(), {heads, view.dims[n], view.dims[n + 1]});
      return formed(operand, out);
    }
    Walks both = heads;
    both.insert(both.end(), view.dims[n + 1].begin(), view.dims[n + 1].end());
    out.dims.insert(out.dims.end(), {view.dims[n], views::merged(both)});
    return formed(operand, out);
  }

  std::optional<FormedOperand> mask_of(const ValueView& mask, const StridedView& view,
                                       size_t first) {
    const size_t n = atoms_.size();
    StridedView out{view.base_elements, view.offset, {}};
    const std::pair<size_t, size_t> parts[] = {{0, first}, {first, n}, {n, n + 1}, {n + 1, n + 2}};
    for (const auto& [begin, end] : parts)
      out.dims.push_back(spread_of(view, begin, end) == Spread::None ? Walks{}
                                                                     : joined(view, begin, end));
    while (out.dims.size() > 1 && out.dims.front().empty()) // the mask is broadcast
      out.dims.erase(out.dims.begin());
    return formed(mask, out);
  }

  /// Atoms before `first` are batches.
  std::optional<AttentionForm> form_of(bool is_flat, size_t first) {
    const size_t n = atoms_.size(), last = n - group_;
    AttentionForm form;
    form.is_flat = is_flat;
    form.heads = product(atoms_, first, last);
    form.query_heads = product(atoms_, first, n);
    if (is_flat && !is_number(form.query_heads))
      return std::nullopt;
    auto query = rows_of(parts_.query, query_, first, n, is_flat),
         key = rows_of(parts_.key, key_, first, last, is_flat),
         value = rows_of(parts_.value, value_, first, last, is_flat);
    if (!query || !key || !value)
      return std::nullopt;
    form.query = *std::move(query);
    form.key = *std::move(key);
    form.value = *std::move(value);
    for (size_t k = 0; k < masks_.size(); ++k) {
      const bool is_chosen = k == parts_.masks.size();
      auto mask = mask_of(is_chosen ? *parts_.chosen : parts_.masks[k], masks_[k], first);
      if (!mask)
        return std::nullopt;
      if (is_chosen)
        form.chosen = *std::move(mask);
      else
        form.masks.push_back(*std::move(mask));
    }
    return take_result(form, product(atoms_, 0, first)) ? std::optional(std::move(form))
                                                        : std::nullopt;
  }

  /// What follows the product, as far as that is a view of the new result.
  bool take_result(AttentionForm& form, int64_t batch) {
    const int64_t queries = parts_.scores[parts_.scores.size() - 2],
                  elements = views::shape_of(value_).back();
    std::optional<StridedView> view;
    if (form.is_flat) {
      form.result_shape = {batch, queries, form.query_heads * elements};
      view = views::transposed(views::whole_view({batch, queries, form.query_heads, elements}),
                               {0, 2, 1, 3});
    } else {
      form.result_shape = {batch, form.query_heads, queries, elements};
      view = views::whole_view(form.result_shape);
    }
    const auto product_shape = extents_of(types_, edit_.node(parts_.last).outputs[0]);
    view = product_shape ? views::reshaped(*view, *product_shape) : std::nullopt;
    if (!view || !take_steps(form, *view, parts_.last))
      return false;
    for (size_t k = 0; k < behind_.size(); ++k) {
      view = seen_through(edit_, types_, edit_.node(behind_[k]), 0, *view);
      if (!view)
        break;
      if (!take_steps(form, *view, behind_[k]))
        continue;
      form.behind.assign(behind_.begin(), behind_.begin() + static_cast<std::ptrdiff_t>(k) + 1);
    }
    effort_ = {effort_.moves + result_moves_, effort_.operators + form.result.size()};
    return true;
  }

  bool take_steps(AttentionForm& form, const StridedView& view, size_t last) {
    const auto steps = views::steps_of(view);
    auto ops = steps ? view_ops(*steps, form.result_shape) : std::nullopt;
    if (!ops)
      return false;
    form.result = *std::move(ops);
    form.last = last;
    result_moves_ = steps->moves();
    return true;
  }

  const Edit& edit_;
  const ValueTypes& types_;
  const AttentionParts& parts_;
  Shape atoms_;      ///< of batches and heads
  size_t group_ = 0; ///< atoms, the innermost ones, that are heads of queries only
  StridedView query_, key_, value_;
  std::vector<StridedView> masks_;
  std::vector<size_t> behind_;
  Effort effort_;
  size_t result_moves_ = 0;
};

} // namespace

std::optional<AttentionForm> attention_form(const Edit& edit, const ValueTypes& types,
                                            const AttentionParts& parts) {
  return FormFinder(edit, types, parts).best();
}

} // namespace kawara::graph::optimise
