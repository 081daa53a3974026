#include "schedule/buffers/window_fill.h"

#include "poly/affine.h"
#include "poly/isl/dimensions.h"
#include "scalar/affine_sum.h"
#include "schedule/tree/rewrite.h"

#include <algorithm>
#include <array>

namespace kawara::schedule {
namespace {

using poly::Scop;
using poly::ScopStatement;
using poly::StmtId;
using scalar::as;
using scalar::BinaryOp;
using scalar::Expr;
using scalar::int_lit;
using Side = program::WindowView::Side;

const scalar::Load* load_inside_casts(Expr e) {
  while (const auto* cast = as<scalar::Cast>(e))
    e = cast->arg;
  return as<scalar::Load>(e);
}

bool is_zero(Expr e) {
  while (const auto* cast = as<scalar::Cast>(e))
    e = cast->arg;
  const auto* real = as<scalar::FloatLit>(e);
  return real != nullptr ? real->value == 0 : scalar::constant_of(e) == 0;
}

std::optional<uint32_t> lone_iterator(const Expr& e) {
  const auto* it = as<scalar::Iter>(e);
  return it != nullptr ? std::optional(it->index) : std::nullopt;
}

/// Coefficients by iterator, and a constant; nothing when something else is in the sum.
struct IteratorSum {
  std::vector<std::pair<uint32_t, int64_t>> terms;
  int64_t constant = 0;
  int64_t of(uint32_t it) const {
    for (const auto& [i, factor] : terms)
      if (i == it)
        return factor;
    return 0;
  }
};

std::optional<IteratorSum> sum_of_iterators(const Expr& e) {
  const scalar::AffineSum sum = scalar::affine_sum(e);
  IteratorSum result;
  result.constant = sum.constant;
  for (const auto& [term, factor] : sum.terms) {
    const auto it = lone_iterator(term);
    if (!it)
      return std::nullopt;
    result.terms.emplace_back(*it, factor);
  }
  return result;
}

class FillReader {
public:
  FillReader(const Scop& scop, uint32_t tensor) : scop_(scop), tensor_(tensor) {}

  std::optional<WindowFill> read(const std::vector<StmtId>& writers) {
    for (const StmtId id : writers) {
      const program::Statement& text = scop_[id].text;
      if (text.op != scalar::ReduceOp::None)
        return std::nullopt;
      if (load_inside_casts(text.value) != nullptr && copy_ == nullptr)
        copy_ = &scop_[id];
      else if (is_zero(text.value) && zeros_ == nullptr)
        zeros_ = &scop_[id];
      else
        return std::nullopt;
    }
    if (copy_ == nullptr || !has_image() || !has_roles() || !fills_all())
      return std::nullopt;
    return WindowFill{view_, writers};
  }

private:
  const program::Tensor& places() const { return scop_.tensors[tensor_]; }
  const program::Tensor& image() const { return scop_.tensors[view_.image]; }

  bool has_image() {
    image_ = load_inside_casts(copy_->text.value);
    view_.image = image_->tensor;
    const size_t rank = copy_->text.index.size();
    return image().role == program::Role::Input && image().elem == places().elem &&
           (image_->index.size() == 3 || image_->index.size() == 4) && rank >= 2 && rank <= 5;
  }
  /// The image's y (0), x (1) or c (2).
  const Expr& image_index(size_t d) const { return image_->index[image_->index.size() - 3 + d]; }

  /// Extent of a loop, which begins at 0.
  int64_t extent(uint32_t it) const {
    isl::set all = copy_->domain;
    if (zeros_ != nullptr)
      all = all.unite(renamed(zeros_->domain, copy_->text.name));
    const auto low = poly::dimension_min(all, it), high = poly::dimension_max(all, it);
    return low == 0 && high ? *high + 1 : 0;
  }

  /// image[n, y * stride + r * dilation - before, ...] goes to [(n * rows + y) * columns + x, r, s,
  /// c], or [.., g, c].
  bool has_roles() {
    const auto line = sum_of_iterators(copy_->text.index[0]);
    const auto c = lone_iterator(copy_->text.index.back());
    if (!line || line->constant != 0 || !c)
      return false;
    find_groups(*c);
    if (!has_channels(*c) || !has_taps())
      return false;
    if (!side_of(column_, tap_[1], step_[1], view_.right) ||
        !side_of(image_index(0), tap_[0], step_[0], view_.down))
      return false;
    std::optional<uint32_t> n;
    if (image_->index.size() == 4) {
      n = lone_iterator(image_->index[0]);
      if (!n && scalar::constant_of(image_->index[0]) != 0)
        return false;
    }
    const auto length = [&](std::optional<uint32_t> it) { return it ? extent(*it) : 1; };
    view_.down.steps = length(step_[0]);
    view_.right.steps = length(step_[1]);
    const int64_t elements = view_.right.steps * view_.down.steps;
    size_t loops = 1, terms = 0;
    const auto has_place = [&](std::optional<uint32_t> it, int64_t factor) {
      loops += it ? 1 : 0;
      terms += it ? 1 : 0;
      return !it || line->of(*it) == factor;
    };
    const bool has_places = has_place(step_[1], 1) && has_place(step_[0], view_.right.steps) &&
                            has_place(n, elements) && line->terms.size() == terms;
    std::vector<int64_t> shape = {length(n) * elements};
    for (size_t d = 0; d < 2; ++d) {
      if ((d == 0 ? view_.down : view_.right).has_taps)
        shape.push_back(length(tap_[d]));
      loops += tap_[d] ? 1 : 0;
    }
    if (group_) {
      shape.push_back(extent(*group_));
      ++loops;
    }
    shape.push_back(extent(*c));
    for (size_t d = 0; d < shape.size(); ++d)
      if (scalar::constant_of(scalar::simplify(places().shape[d])) != shape[d])
        return false;
    return has_places && copy_->text.iters.size() == loops;
  }

  /// A dimension for groups stands before the last one, and the image's channel counts through
  /// both. Only groups of whole lines of TMA: what it brings beyond a group would be of the next
  /// one.
  void find_groups(uint32_t c) {
    constexpr int64_t kLine = 128;
    const std::vector<Expr>& to = copy_->text.index;
    const auto group = to.size() > 2 ? lone_iterator(to[to.size() - 2]) : std::nullopt;
    const auto channel = sum_of_iterators(image_index(2));
    const int64_t channels = extent(c);
    if (!group || !channel || channel->constant != 0 || channel->terms.size() != 2 ||
        channel->of(c) != 1 || channel->of(*group) != channels ||
        channels * scalar::bytes_of(image().elem) % kLine != 0 ||
        scalar::constant_of(image().shape.back()) != channels * extent(*group))
      return;
    group_ = group;
    view_.channels_of_group = channels;
  }

  /// Indices between the place and the channel: r and s, or the one that the image's index tells.
  bool has_taps() {
    std::vector<Expr> to = copy_->text.index;
    if (group_)
      to.erase(to.end() - 2);
    if (to.size() > 4)
      return false;
    const bool has_both = to.size() == 4;
    view_.down.has_taps = view_.right.has_taps = has_both;
    const auto is_tap = [&](size_t d) { // a loop, or the only element
      return lone_iterator(to[d]) || scalar::constant_of(to[d]) == 0;
    };
    if (has_both)
      tap_ = {lone_iterator(to[1]), lone_iterator(to[2])};
    if (to.size() != 3)
      return !has_both || (is_tap(1) && is_tap(2));
    const auto only = lone_iterator(to[1]);
    const auto row = sum_of_iterators(image_index(0));
    if (!only || !row)
      return false;
    const bool is_down = row->of(*only) != 0;
    tap_[is_down ? 0 : 1] = only;
    (is_down ? view_.down : view_.right).has_taps = true;
    return true;
  }

  /// The last index is `c`, or `c % channels` with `c // channels` in the one before it; that one
  /// without it is the column.
  bool has_channels(uint32_t c) {
    column_ = image_index(1);
    if (group_ || lone_iterator(image_index(2)) == c)
      return true;
    const Expr channel = scalar::iter(c), &channels = image().shape.back();
    const auto is_same = [](const Expr& a, const Expr& b) {
      return scalar::constant_of(scalar::simplify(a - b)) == 0;
    };
    column_ = scalar::simplify(column_ - scalar::binary(BinaryOp::FloorDiv, channel, channels));
    return zeros_ == nullptr &&
           is_same(image_index(2), scalar::binary(BinaryOp::Mod, channel, channels));
  }

  /// Reads one direction: `step` is the iterator that moves the window, besides the one inside it,
  /// if any.
  static bool side_of(const Expr& index, std::optional<uint32_t> tap, std::optional<uint32_t>& step,
                      Side& side) {
    const auto sum = sum_of_iterators(index);
    if (!sum || sum->constant > 0)
      return false;
    side.before = -sum->constant;
    for (const auto& [it, factor] : sum->terms) {
      if (factor <= 0 || (it != tap && step))
        return false;
      (it == tap ? side.dilation : side.stride) = factor;
      if (it != tap)
        step = it;
    }
    return true;
  }

  /// Every element is written once, zeros exactly where the image has no element.
  bool fills_all() const {
    Expr inside;
    const auto add = [&](const Expr& condition) {
      inside = inside ? scalar::binary(BinaryOp::And, inside, condition) : condition;
    };
    const std::string& name = copy_->text.name;
    for (uint32_t it = 0; it < copy_->text.iters.size(); ++it) {
      add(scalar::binary(BinaryOp::Ge, scalar::iter(it), int_lit(0)));
      add(scalar::binary(BinaryOp::Lt, scalar::iter(it), int_lit(extent(it))));
    }
    const isl::set universe = poly::statement_universe(scop_.context_owner->get(), scop_.params,
                                                       name, copy_->text.iters.size());
    const isl::set all = poly::set_from_condition(inside, universe, scop_.params);
    inside = Expr();
    for (size_t d = 0; d < 2; ++d) {
      add(scalar::binary(BinaryOp::Ge, image_index(d), int_lit(0)));
      add(scalar::binary(BinaryOp::Lt, image_index(d),
                         image().shape[image().shape.size() - 3 + d]));
    }
    const isl::set copied = poly::set_from_condition(inside, all, scop_.params);
    if (!copy_->domain.is_equal(copied))
      return false;
    if (zeros_ == nullptr)
      return copied.is_equal(all);
    bool is_same_element = zeros_->text.index.size() == copy_->text.index.size();
    for (size_t d = 0; is_same_element && d < copy_->text.index.size(); ++d)
      is_same_element =
          scalar::constant_of(scalar::simplify(zeros_->text.index[d] - copy_->text.index[d])) == 0;
    return is_same_element && renamed(zeros_->domain, name).is_equal(all.subtract(copied));
  }

  const Scop& scop_;
  uint32_t tensor_;
  const ScopStatement *copy_ = nullptr, *zeros_ = nullptr;
  const scalar::Load* image_ = nullptr;
  Expr column_; ///< of the image, for the first channels
  std::array<std::optional<uint32_t>, 2> tap_ = {}, step_ = {}; ///< down, right
  std::optional<uint32_t> group_;
  program::WindowView view_;
};

} // namespace

std::optional<WindowFill> window_fill(const Scop& scop, uint32_t tensor, bool are_removed) {
  if (scop.tensors[tensor].role != program::Role::Temp)
    return std::nullopt;
  std::vector<StmtId> writers;
  for (uint32_t s = 0; s < scop.statements.size(); ++s)
    if (scop.statements[s].text.tensor == tensor) {
      if (scop.statements[s].is_removed != are_removed)
        return std::nullopt;
      writers.push_back(StmtId{s});
    }
  if (writers.empty() || writers.size() > 2)
    return std::nullopt;
  return FillReader(scop, tensor).read(writers);
}

std::optional<program::WindowView> inlined_window(const Scop& scop, uint32_t tensor) {
  const auto fill = window_fill(scop, tensor, true);
  return fill ? std::optional(fill->view) : std::nullopt;
}

} // namespace kawara::schedule
