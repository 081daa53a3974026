#include "kernel/gpu/chain/chain_shape.h"

#include <algorithm>
#include <set>

namespace kawara::kernel {
namespace {

class WidthFinder {
public:
  WidthFinder(const ChainForm& form, int64_t rows) : form_(form), rows_(rows) {}

  std::optional<std::map<uint32_t, int64_t>> find() {
    for (const ChainItem& item : form_.inside)
      if (const auto* product = std::get_if<ChainProduct>(&item)) {
        if (!set(product->result.buffer, product->instruction->extents[1]) ||
            (form_.buffers.contains(product->a.buffer) &&
             !set(product->a.buffer, whole_blocks(product->depth.most))))
          return std::nullopt;
      }
    // A width goes on from nest to nest; as many rounds as there are buffers are enough.
    for (size_t round = 0; round < form_.buffers.size(); ++round)
      for (const auto* list : {&form_.before, &form_.inside, &form_.after})
        for (const ChainItem& item : *list)
          if (const auto* nest = std::get_if<ChainNest>(&item); nest && !share(*nest))
            return std::nullopt;
    const bool is_complete =
        std::all_of(form_.buffers.begin(), form_.buffers.end(), [&](const auto& entry) {
          return !entry.second.column || widths_.contains(entry.first);
        });
    return is_complete ? std::optional(widths_) : std::nullopt;
  }

private:
  bool set(uint32_t buffer, int64_t width) {
    return widths_.try_emplace(buffer, width).first->second == width;
  }

  bool share(const ChainNest& nest) {
    if (nest.rows.most > rows_)
      return false;
    const auto width = width_of(widths_, nest);
    if (!width)
      return true;
    bool is_same = nest.columns->most <= *width;
    for (const uint32_t buffer : touched_by(nest))
      if (const auto own = form_.buffers.find(buffer);
          own != form_.buffers.end() && own->second.column)
        is_same = is_same && set(buffer, *width);
    return is_same;
  }

  const ChainForm& form_;
  int64_t rows_;
  std::map<uint32_t, int64_t> widths_;
};

/// No free item writes what an item before it that waits reads or writes.
bool is_reordering_safe(const ChainForm& form, const ChainOverlap& overlap) {
  for (const size_t free : overlap.free)
    for (const size_t bound : overlap.bound)
      if (bound < free && touched_by(form.inside[bound])
                              .contains(std::get<ChainNest>(form.inside[free]).store.buffer))
        return false;
  return true;
}

} // namespace

std::optional<std::map<uint32_t, int64_t>> chain_widths(const ChainForm& form, int64_t rows) {
  return WidthFinder(form, rows).find();
}

std::optional<int64_t> width_of(const std::map<uint32_t, int64_t>& widths, const ChainNest& nest) {
  if (nest.columns)
    for (const uint32_t buffer : touched_by(nest))
      if (const auto known = widths.find(buffer); known != widths.end())
        return known->second;
  return std::nullopt;
}

std::optional<ChainOverlap> chain_overlap(const ChainForm& form) {
  std::vector<size_t> products;
  for (size_t n = 0; n < form.inside.size(); ++n)
    if (std::get_if<ChainProduct>(&form.inside[n]) != nullptr)
      products.push_back(n);
  if (products.size() != 2 || products[1] + 1 != form.inside.size())
    return std::nullopt;
  ChainOverlap overlap{products[0], products[1], {}, {}, {}};
  const auto& last = std::get<ChainProduct>(form.inside[overlap.last]);
  if (!form.buffers.contains(last.a.buffer))
    return std::nullopt;
  std::set<uint32_t> late = {last.a.buffer, last.result.buffer};
  for (size_t n = 0; n < overlap.last; ++n) {
    const std::set<uint32_t> touched = touched_by(form.inside[n]);
    const bool is_late =
        std::any_of(touched.begin(), touched.end(), [&](uint32_t b) { return late.contains(b); });
    if (is_late && n <= overlap.first)
      return std::nullopt;
    if (n < overlap.first)
      overlap.begin.push_back(n);
    else if (n > overlap.first)
      (is_late ? overlap.bound : overlap.free).push_back(n);
    // What an item that waits writes, no later one may read before it.
    if (is_late)
      late.insert(std::get<ChainNest>(form.inside[n]).store.buffer);
  }
  return is_reordering_safe(form, overlap) ? std::optional(overlap) : std::nullopt;
}

namespace {

Expr without_casts(Expr e) {
  while (const auto* cast = scalar::as<scalar::Cast>(e)) {
    Expr inside = cast->arg;
    e = std::move(inside);
  }
  return e;
}

std::optional<uint32_t> loaded_by(const Expr& e) {
  const auto* load = scalar::as<scalar::Load>(without_casts(e));
  return load != nullptr ? std::optional(load->tensor) : std::nullopt;
}

/// Does the value go to minus infinity with the scores? Whatever a difference takes away is the
/// row's.
bool falls_with(const Expr& value, const ChainForm& form, uint32_t scores) {
  const Expr e = without_casts(value);
  if (loaded_by(e) == scores)
    return true;
  const auto* n = scalar::as<scalar::Binary>(e);
  if (n == nullptr)
    return false;
  const auto is_positive = [](const Expr& side) {
    const auto* literal = scalar::as<scalar::FloatLit>(side);
    return literal != nullptr && literal->value > 0;
  };
  if (n->op == scalar::BinaryOp::Mul)
    return (is_positive(n->rhs) && falls_with(n->lhs, form, scores)) ||
           (is_positive(n->lhs) && falls_with(n->rhs, form, scores));
  const auto taken = loaded_by(n->rhs);
  const auto of_row = taken ? form.buffers.find(*taken) : form.buffers.end();
  return n->op == scalar::BinaryOp::Sub && of_row != form.buffers.end() && !of_row->second.column &&
         falls_with(n->lhs, form, scores);
}

} // namespace

std::optional<ChainMask> chain_mask(const ChainForm& form) {
  std::optional<ChainMask> mask;
  for (const ChainItem& item : form.inside) {
    const auto* nest = std::get_if<ChainNest>(&item);
    const auto own = nest ? form.buffers.find(nest->store.buffer) : form.buffers.end();
    if (own == form.buffers.end() || !nest->columns)
      continue;
    const auto loaded = loaded_by(nest->store.value);
    if (!own->second.column) {
      const auto from = loaded ? form.buffers.find(*loaded) : form.buffers.end();
      if (!mask && nest->store.op == ReduceOp::Max && from != form.buffers.end() &&
          from->second.column)
        mask = ChainMask{*loaded, {}};
      continue;
    }
    if (!mask)
      continue;
    if (own->first == mask->scores)
      return std::nullopt; // others than those whose maximum was taken
    const auto* call = scalar::as<scalar::Unary>(without_casts(nest->store.value));
    const bool is_weight = call != nullptr && call->op == scalar::UnaryOp::Exp &&
                           falls_with(call->arg, form, mask->scores);
    const bool is_zero = is_weight || (loaded && mask->zeros.contains(*loaded));
    if (nest->store.op == ReduceOp::None && is_zero)
      mask->zeros.insert(own->first);
    else
      mask->zeros.erase(own->first);
  }
  return mask;
}

} // namespace kawara::kernel
