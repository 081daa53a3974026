#include "kernel/analysis/elements.h"

#include "scalar/affine_sum.h"
#include "support/hash.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::int_lit;

/// Smallest and largest value of one index over its lanes; empty for a vector that is no ramp.
struct Extent {
  Expr first, last;
};

std::optional<Extent> extent_of(const Expr& e) {
  if (e.type().lanes == 1)
    return Extent{e, e};
  const auto* ramp = as<scalar::Ramp>(e);
  if (ramp == nullptr)
    return std::nullopt;
  const Expr end = scalar::simplify(ramp->base + int_lit(ramp->stride * (e.type().lanes - 1)));
  return ramp->stride >= 0 ? Extent{ramp->base, end} : Extent{end, ramp->base};
}

} // namespace

Element element_of(const Kernel& kernel, const Store& store) {
  return {store.buffer, store.index, {kernel.buffers[store.buffer].elem, store.value.type().lanes}};
}

Element element_of(const Expr& load_expr, const scalar::Load& load) {
  return {load.tensor, load.index, load_expr.type()};
}

bool is_same(const Element& a, const Element& b) {
  return a.buffer == b.buffer && a.type == b.type &&
         std::equal(a.index.begin(), a.index.end(), b.index.begin(), b.index.end(),
                    [](const Expr& x, const Expr& y) { return equal(x, y); });
}

uint64_t hash_of(const Element& element) {
  uint64_t hash = hash_mix(element.buffer, element.type.lanes);
  for (const Expr& e : element.index)
    hash = hash_mix(hash, scalar::hash_of(e));
  return hash;
}

bool are_apart(const Element& a, const Element& b, const Ranges& ranges) {
  if (a.buffer != b.buffer)
    return true;
  if (a.index.size() != b.index.size()) // one of them flat
    return false;
  for (size_t d = 0; d < a.index.size(); ++d) {
    const auto x = extent_of(a.index[d]), y = extent_of(b.index[d]);
    if (!x || !y)
      continue;
    if (equal(x->first, y->first))
      continue;
    const Expr after = scalar::simplify(x->first - y->last);
    const Expr before = scalar::simplify(y->first - x->last);
    if (ranges.is_at_least(after, 1) || ranges.is_at_least(before, 1))
      return true;
  }
  return false;
}

size_t ElementTable::add(const Element& element) {
  if (const auto known = find(element))
    return *known;
  by_hash_.emplace(hash_of(element), elements_.size());
  elements_.push_back(element);
  std::vector<Reach> reaches;
  for (const Expr& e : element.index)
    reaches.push_back(reach_of(e));
  reaches_.push_back(std::move(reaches));
  return elements_.size() - 1;
}

ElementTable::Reach ElementTable::reach_of(const Expr& index) {
  const auto extent = extent_of(index);
  if (!extent)
    return {number_of(index), 0, 0};
  scalar::AffineSum first = scalar::affine_sum(extent->first);
  const int64_t lanes = index.type().lanes;
  const auto* ramp = as<scalar::Ramp>(index);
  const int64_t length = ramp != nullptr ? std::abs(ramp->stride) * (lanes - 1) : 0;
  const int64_t at = std::exchange(first.constant, 0);
  return {number_of(scalar::expr_of(first)), at, at + length};
}

size_t ElementTable::number_of(const Expr& terms) {
  const uint64_t hash = scalar::hash_of(terms);
  const auto [begin, end] = terms_by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (equal(terms_[it->second], terms))
      return it->second;
  terms_by_hash_.emplace(hash, terms_.size());
  terms_.push_back(terms);
  return terms_.size() - 1;
}

bool ElementTable::are_far_apart(size_t a, size_t b) const {
  if (elements_[a].buffer != elements_[b].buffer)
    return true;
  if (reaches_[a].size() != reaches_[b].size())
    return false;
  for (size_t d = 0; d < reaches_[a].size(); ++d) {
    const Reach &x = reaches_[a][d], &y = reaches_[b][d];
    if (x.terms == y.terms && (x.last < y.first || y.last < x.first))
      return true;
  }
  return false;
}

std::optional<size_t> ElementTable::find(const Element& element) const {
  const auto [begin, end] = by_hash_.equal_range(hash_of(element));
  for (auto it = begin; it != end; ++it)
    if (is_same(elements_[it->second], element))
      return it->second;
  return std::nullopt;
}

} // namespace kawara::kernel
