#include "validate/copies.h"

#include "scalar/affine_sum.h"

#include <algorithm>
#include <set>

namespace kawara::validate {

using scalar::Expr;
using scalar::int_lit;

namespace {

/// Constant distances between the iterators of two leaves; nothing where they differ otherwise.
std::optional<std::vector<int64_t>> distance(const Leaf& from, const Leaf& to) {
  std::vector<int64_t> result;
  for (size_t d = 0; d < from.iters.size(); ++d) {
    const scalar::AffineSum sum =
        scalar::difference(scalar::affine_sum(to.iters[d]), scalar::affine_sum(from.iters[d]));
    if (!sum.terms.empty())
      return std::nullopt;
    result.push_back(sum.constant);
  }
  return result;
}

bool are_alike(const Leaf& a, const Leaf& b) {
  return a.statement == b.statement && a.is_padded == b.is_padded &&
         a.is_per_thread == b.is_per_thread && a.iters.size() == b.iters.size() &&
         std::equal(a.points.begin(), a.points.end(), b.points.begin(), b.points.end(),
                    [](const Expr& x, const Expr& y) { return scalar::equal(x, y); });
}

} // namespace

Copies::Copies(const Leaf& first)
    : first_(first), distances_{std::vector<int64_t>(first.iters.size(), 0)}, positions_{
                                                                                  first.position} {}

bool Copies::take(const Leaf& leaf) {
  if (first_.is_scan || !are_alike(first_, leaf)) // vectors of a scan follow each other
    return false;
  auto apart = distance(first_, leaf);
  if (!apart)
    return false;
  distances_.push_back(*std::move(apart));
  positions_.push_back(leaf.position);
  return true;
}

std::optional<Copies::Spread> Copies::spread(size_t d) const {
  std::set<int64_t> values;
  for (const auto& distance : distances_)
    values.insert(distance[d]);
  Spread result{*values.begin(), 1, static_cast<int64_t>(values.size())};
  if (values.size() == 1)
    return result;
  result.step = *std::next(values.begin()) - *values.begin();
  int64_t expected = result.least;
  for (const int64_t value : values) {
    if (value != expected)
      return std::nullopt;
    expected += result.step;
  }
  return result;
}

std::vector<Leaf> Copies::joined(size_t loops) const {
  std::vector<Spread> spreads;
  int64_t elements = 1;
  for (size_t d = 0; d < first_.iters.size(); ++d) {
    const auto found = spread(d);
    if (!found)
      return run_in_subprocess();
    spreads.push_back(*found);
    elements *= found->count;
  }
  const std::set<std::vector<int64_t>> different(distances_.begin(), distances_.end());
  if (elements != static_cast<int64_t>(distances_.size()) || different.size() != distances_.size())
    return run_in_subprocess();
  Leaf whole = first_;
  whole.position = *std::min_element(positions_.begin(), positions_.end());
  whole.last = *std::max_element(positions_.begin(), positions_.end());
  for (size_t d = 0; d < spreads.size(); ++d) {
    Expr shift = int_lit(spreads[d].least);
    if (spreads[d].count > 1) {
      const auto point = static_cast<uint32_t>(loops + whole.points.size());
      shift = shift + scalar::iter(point) * int_lit(spreads[d].step);
      whole.points.push_back(int_lit(spreads[d].count));
    }
    whole.iters[d] = scalar::simplify(whole.iters[d] + shift);
  }
  return {whole};
}

std::vector<Leaf> Copies::run_in_subprocess() const {
  std::vector<Leaf> leaves;
  for (size_t n = 0; n < distances_.size(); ++n) {
    Leaf leaf = first_;
    leaf.position = leaf.last = positions_[n];
    for (size_t d = 0; d < leaf.iters.size(); ++d)
      leaf.iters[d] = scalar::simplify(leaf.iters[d] + int_lit(distances_[n][d]));
    leaves.push_back(std::move(leaf));
  }
  return leaves;
}

} // namespace kawara::validate
