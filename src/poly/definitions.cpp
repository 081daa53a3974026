#include "poly/definitions.h"

#include "poly/isl/pieces.h"
#include "scalar/eval.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

namespace kawara::poly {

using scalar::BinaryOp;
using scalar::Expr;

namespace {

/// The dimensions that a constraint is about; none when it is about something else, too.
std::vector<uint32_t> dimensions_in(const PlainConstraint& constraint) {
  std::vector<uint32_t> found;
  for (uint32_t d = 0; d < constraint.factors.size() && !constraint.has_more; ++d)
    if (constraint.factors[d] != 0)
      found.push_back(d);
  return found;
}

class Definitions {
public:
  explicit Definitions(size_t dimensions) : all_(dimensions), of_(dimensions) {}

  void add(const PlainConstraint& constraint) {
    const std::vector<uint32_t> dims = dimensions_in(constraint);
    if (constraint.is_equality)
      add_equality(constraint, dims);
    else if (dims.size() == 2)
      add_bound(constraint, dims);
  }

  std::vector<Expr> resolved() {
    for (uint32_t d = 0; d < all_.size(); ++d)
      for (size_t steps = all_.size(); all_[d] && steps > 0; --steps)
        all_[d] = scalar::substitute_iters(all_[d], all_);
    for (Expr& one : all_)
      one = one ? scalar::simplify(one) : one;
    return std::move(all_);
  }

private:
  /// d = c, or the later one of two as the earlier and a constant.
  void add_equality(const PlainConstraint& constraint, const std::vector<uint32_t>& dims) {
    const auto factor = [&](size_t k) { return constraint.factors[dims[k]]; };
    if (dims.size() == 1 && factor(0) * factor(0) == 1)
      define(dims[0], scalar::int_lit(-constraint.constant * factor(0)), std::nullopt);
    if (dims.size() == 2 && factor(1) * factor(1) == 1 && factor(0) == -factor(1))
      define(dims[1], scalar::iter(dims[0]) - scalar::int_lit(constraint.constant * factor(1)),
             dims[0]);
  }

  /// n * d <= i + c and i + c <= n * d + n - 1 together: d is (i + c) // n.
  void add_bound(const PlainConstraint& constraint, const std::vector<uint32_t>& dims) {
    for (const auto& [block, inner] : {std::pair(dims[0], dims[1]), std::pair(dims[1], dims[0])}) {
      const int64_t factor = constraint.factors[inner], size = -factor * constraint.factors[block];
      if (factor * factor != 1 || size < 2)
        continue;
      const auto key = std::tuple(block, inner, size);
      (factor > 0 ? lows_ : highs_).emplace(key, constraint.constant);
      const auto low = lows_.find(key), high = highs_.find(key);
      if (low != lows_.end() && high != highs_.end() && low->second + high->second == size - 1)
        define(block,
               scalar::binary(BinaryOp::FloorDiv,
                              scalar::iter(inner) + scalar::int_lit(low->second),
                              scalar::int_lit(size)),
               inner);
    }
  }

  void define(uint32_t d, const Expr& value, std::optional<uint32_t> of) {
    std::optional<uint32_t> root = of;
    while (root && all_[*root])
      root = of_[*root];
    if (all_[d] || root == d)
      return;
    all_[d] = value;
    of_[d] = of;
  }

  std::vector<Expr> all_;
  std::vector<std::optional<uint32_t>> of_; ///< the iterator that a definition is made of
  std::map<std::tuple<uint32_t, uint32_t, int64_t>, int64_t> lows_, highs_;
};

using Ends = std::pair<int64_t, int64_t>;

std::vector<Expr> definitions_in(const std::vector<PlainConstraint>& constraints,
                                 size_t dimensions) {
  Definitions all(dimensions);
  for (const PlainConstraint& constraint : constraints)
    all.add(constraint);
  return all.resolved();
}

/// What constraints on one dimension alone say.
std::optional<Ends> own_bounds(const std::vector<PlainConstraint>& constraints, uint32_t at) {
  std::optional<int64_t> low, high;
  for (const PlainConstraint& constraint : constraints) {
    const std::vector<uint32_t> dims = dimensions_in(constraint);
    if (dims.size() != 1 || dims[0] != at)
      continue;
    // factor * x + constant >= 0, or = 0
    const int64_t factor = constraint.factors[at];
    if (factor != 1 && factor != -1)
      return std::nullopt;
    const int64_t end = -constraint.constant * factor;
    if (constraint.is_equality || factor == 1)
      low = std::max(low.value_or(end), end);
    if (constraint.is_equality || factor == -1)
      high = std::min(high.value_or(end), end);
  }
  return low && high && *low <= *high ? std::optional(Ends(*low, *high)) : std::nullopt;
}

/// An iterator with those that it defines.
class Family {
public:
  Family(const std::vector<Expr>& definitions, uint32_t head)
      : definitions_(definitions), head_(head) {
    for (uint32_t d = 0; d < definitions.size(); ++d)
      is_member_.push_back(d == head || is_defined(d));
  }

  /// Whether the constraint leaves each value from the first to the last to the iterator, and has nothing to do with any but its
  /// family.
  bool is_met(const PlainConstraint& constraint, const Ends& ends) const {
    bool is_inside = false, is_outside = constraint.has_more;
    for (uint32_t d = 0; d < constraint.factors.size(); ++d)
      if (constraint.factors[d] != 0)
        (is_member_[d] ? is_inside : is_outside) = true;
    if (!is_inside)
      return true;
    if (is_outside)
      return false;
    const std::vector<uint32_t> dims = dimensions_in(constraint);
    if (dims.size() == 1 && dims[0] == head_)
      return true; // the ends come from there
    if (dims.size() == 1 && !constraint.is_equality)
      return holds(constraint, ends.first) && holds(constraint, ends.second); // it only ever grows
    return dims.size() == 2 && says_definition(constraint, dims);
  }

private:
  bool is_defined(uint32_t d) const {
    bool is_own = static_cast<bool>(definitions_[d]), has_head = false;
    if (is_own)
      scalar::visit(definitions_[d], [&](const Expr& e) {
        const auto* it = scalar::as<scalar::Iter>(e);
        has_head = has_head || (it != nullptr && it->index == head_);
        is_own = is_own && (it == nullptr || it->index == head_);
      });
    return is_own && has_head;
  }

  Expr words(uint32_t d) const { return d == head_ ? scalar::iter(d) : definitions_[d]; }

  bool holds(const PlainConstraint& constraint, int64_t value) const {
    std::vector<int64_t> at(definitions_.size(), 0);
    at[head_] = value;
    int64_t sum = constraint.constant;
    for (uint32_t d = 0; d < constraint.factors.size(); ++d)
      if (constraint.factors[d] != 0)
        sum += constraint.factors[d] * scalar::evaluate_index(words(d), at, {}).value_or(0);
    return sum >= 0;
  }

  /// d = i + c, or n * d <= i + c <= n * d + n - 1 where d is (i + c) // n.
  bool says_definition(const PlainConstraint& constraint, const std::vector<uint32_t>& dims) const {
    Definitions alone(definitions_.size());
    PlainConstraint other = constraint;
    if (!constraint.is_equality)
      for (int64_t& factor : other.factors)
        factor = -factor;
    int64_t size = 1;
    for (const uint32_t d : dims)
      size = std::max(size, std::abs(constraint.factors[d]));
    other.constant = size - 1 - constraint.constant;
    alone.add(constraint);
    if (!constraint.is_equality)
      alone.add(other);
    const std::vector<Expr> said = alone.resolved();
    for (const uint32_t d : dims)
      if (said[d])
        return scalar::equal(in_own_words(said[d], definitions_), words(d));
    return false;
  }

  const std::vector<Expr>& definitions_;
  uint32_t head_;
  std::vector<bool> is_member_;
};

std::optional<Ends> free_range_in(const std::vector<PlainConstraint>& constraints,
                                  const std::vector<Expr>& definitions, uint32_t iterator) {
  const auto ends = definitions[iterator] ? std::nullopt : own_bounds(constraints, iterator);
  if (!ends)
    return std::nullopt;
  const Family family(definitions, iterator);
  for (const PlainConstraint& constraint : constraints)
    if (!family.is_met(constraint, *ends))
      return std::nullopt;
  return ends;
}

} // namespace

std::vector<Expr> definitions_of(const isl::set& domain) {
  const auto constraints = plain_constraints(domain);
  return definitions_in(constraints.value_or(std::vector<PlainConstraint>{}), domain.tuple_dim());
}

std::optional<Ends> free_range(const isl::set& domain, uint32_t iterator) {
  const auto constraints = plain_constraints(domain);
  if (!constraints)
    return std::nullopt;
  if (const auto fixed = own_bounds(*constraints, iterator); fixed && fixed->first == fixed->second)
    return domain.is_empty() ? std::nullopt : fixed;
  const std::vector<Expr> definitions = definitions_in(*constraints, domain.tuple_dim());
  const auto ends = free_range_in(*constraints, definitions, iterator);
  if (!ends)
    return std::nullopt;
  bool has_points = true; // each iterator has a value whatever the others are
  for (uint32_t d = 0; d < definitions.size() && has_points; ++d)
    has_points = definitions[d] || free_range_in(*constraints, definitions, d);
  return has_points || !domain.is_empty() ? ends : std::nullopt;
}

std::optional<Ends> bounds_of_iterator(const isl::set& domain, uint32_t iterator) {
  const auto constraints = plain_constraints(domain);
  return constraints ? own_bounds(*constraints, iterator) : std::nullopt;
}

bool differ_somewhere(const Expr& a, const Expr& b, const isl::set& domain) {
  std::map<uint32_t, Ends> ranges;
  for (const Expr& e : {a, b})
    scalar::visit(e, [&](const Expr& n) {
      if (const auto* it = scalar::as<scalar::Iter>(n))
        ranges.try_emplace(it->index, 0, -1);
    });
  std::vector<int64_t> at(domain.tuple_dim(), 0);
  for (auto& [iterator, ends] : ranges) {
    const auto range = free_range(domain, iterator);
    if (!range)
      return false;
    ends = *range;
    at[iterator] = range->first;
  }
  const auto differ = [&] {
    const auto one = scalar::evaluate_index(a, at, {}), other = scalar::evaluate_index(b, at, {});
    return one && other && *one != *other;
  };
  bool found = differ();
  for (const auto& [iterator, ends] : ranges) {
    at[iterator] = ends.second;
    found = found || differ();
    at[iterator] = ends.first;
  }
  return found;
}

Expr in_own_words(const Expr& e, const std::vector<Expr>& definitions) {
  const Expr other = scalar::substitute_iters(e, definitions);
  return scalar::equal(other, e) ? e : scalar::simplify(other);
}

} // namespace kawara::poly
