#include "kernel/cells.h"

#include "support/hash.h"

#include <algorithm>

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

Cell cell_of(const Kernel& kernel, const Store& store) {
  return {store.buffer, store.index, {kernel.buffers[store.buffer].elem, store.value.type().lanes}};
}

Cell cell_of(const Expr& load_expr, const scalar::Load& load) {
  return {load.tensor, load.index, load_expr.type()};
}

bool is_same(const Cell& a, const Cell& b) {
  return a.buffer == b.buffer && a.type == b.type &&
         std::equal(a.index.begin(), a.index.end(), b.index.begin(), b.index.end(),
                    [](const Expr& x, const Expr& y) { return equal(x, y); });
}

uint64_t hash_of(const Cell& cell) {
  uint64_t hash = hash_mix(cell.buffer, cell.type.lanes);
  for (const Expr& e : cell.index)
    hash = hash_mix(hash, scalar::hash_of(e));
  return hash;
}

bool are_apart(const Cell& a, const Cell& b, const Ranges& ranges) {
  if (a.buffer != b.buffer)
    return true;
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

size_t CellTable::add(const Cell& cell) {
  if (const auto known = find(cell))
    return *known;
  by_hash_.emplace(hash_of(cell), cells_.size());
  cells_.push_back(cell);
  return cells_.size() - 1;
}

std::optional<size_t> CellTable::find(const Cell& cell) const {
  const auto [begin, end] = by_hash_.equal_range(hash_of(cell));
  for (auto it = begin; it != end; ++it)
    if (is_same(cells_[it->second], cell))
      return it->second;
  return std::nullopt;
}

} // namespace kawara::kernel
