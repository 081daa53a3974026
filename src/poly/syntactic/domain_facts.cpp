#include "poly/syntactic/domain_facts.h"

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

  /// Whether the constraint leaves each value from the first to the last to the iterator, and has
  /// nothing to do with any but its family.
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
        return scalar::equal(canonical(said[d], definitions_), words(d));
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

/// Every iterator has a value whatever the others are.
bool leave_points(const std::vector<PlainConstraint>& constraints,
                  const std::vector<Expr>& definitions) {
  for (uint32_t d = 0; d < definitions.size(); ++d)
    if (!definitions[d] && !free_range_in(constraints, definitions, d))
      return false;
  return true;
}

bool touches(const PlainConstraint& constraint, const std::vector<bool>& dims) {
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] && constraint.factors[d] != 0)
      return true;
  return false;
}

/// The dimensions that constraints tie to one; nothing where they are about something else, too.
std::optional<std::vector<bool>> tied_dimensions(const std::vector<PlainConstraint>& constraints,
                                                 size_t dimensions, uint32_t from) {
  std::vector<bool> tied(dimensions, false);
  tied[from] = true;
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (const PlainConstraint& constraint : constraints) {
      if (!touches(constraint, tied))
        continue;
      if (constraint.has_more)
        return std::nullopt;
      for (const uint32_t d : dimensions_in(constraint)) {
        has_grown = has_grown || !tied[d];
        tied[d] = true;
      }
    }
  }
  return tied;
}

/// Bounds of dimensions that follow from those of others, constraint by constraint.
class Bounds {
public:
  explicit Bounds(size_t dimensions) : low_(dimensions), high_(dimensions) {}

  /// Whether something new followed.
  bool narrow(const PlainConstraint& constraint) {
    bool is_new = false;
    for (uint32_t d = 0; d < constraint.factors.size(); ++d)
      for (const int64_t sign : {1, -1})
        if (constraint.factors[d] != 0 && (sign == 1 || constraint.is_equality))
          is_new = narrow(constraint, sign, d) || is_new;
    return is_new;
  }

  std::optional<Ends> of(uint32_t d) const {
    return low_[d] && high_[d] ? std::optional(Ends(*low_[d], *high_[d])) : std::nullopt;
  }

private:
  /// sign * (factor * x + the rest) >= 0, where the rest is as large as it can be.
  bool narrow(const PlainConstraint& constraint, int64_t sign, uint32_t d) {
    int64_t rest = sign * constraint.constant;
    for (uint32_t k = 0; k < constraint.factors.size(); ++k) {
      const int64_t factor = sign * constraint.factors[k];
      const auto& end = factor > 0 ? high_[k] : low_[k];
      if (k == d || factor == 0)
        continue;
      if (!end)
        return false;
      rest += factor * *end;
    }
    const int64_t factor = sign * constraint.factors[d], size = std::abs(factor);
    const int64_t most = rest >= 0 ? rest / size : -((-rest + size - 1) / size);
    auto& end = factor > 0 ? low_[d] : high_[d];
    const int64_t value = factor > 0 ? -most : most;
    if (std::abs(value) > kLargestPlain || (end && (factor > 0 ? *end >= value : *end <= value)))
      return false;
    end = value;
    return true;
  }

  std::vector<std::optional<int64_t>> low_, high_;
};

Bounds bounds_in(const std::vector<PlainConstraint>& constraints, size_t dimensions) {
  Bounds bounds(dimensions);
  bool is_new = true;
  for (size_t turn = 0; turn <= 2 * dimensions && is_new; ++turn) {
    is_new = false;
    for (const PlainConstraint& constraint : constraints)
      is_new = (!constraint.has_more && bounds.narrow(constraint)) || is_new;
  }
  return bounds;
}

bool is_met_at(const PlainConstraint& constraint, const std::vector<int64_t>& at) {
  int64_t sum = constraint.constant;
  for (size_t d = 0; d < at.size(); ++d)
    sum += constraint.factors[d] * at[d];
  return constraint.is_equality ? sum == 0 : sum >= 0;
}

} // namespace

DomainFacts::DomainFacts(isl::set domain)
    : domain_(std::move(domain)), constraints_(plain_constraints(domain_)),
      definitions_(definitions_in(constraints_.value_or(std::vector<PlainConstraint>{}),
                                  domain_.tuple_dim())) {}

std::optional<Ends> DomainFacts::free_range(uint32_t iterator) const {
  if (const auto known = free_ranges_.find(iterator); known != free_ranges_.end())
    return known->second;
  const auto found = found_range(iterator); // may run out of its quota: then nothing is known
  free_ranges_.emplace(iterator, found);
  return found;
}

std::optional<Ends> DomainFacts::found_range(uint32_t iterator) const {
  if (!constraints_)
    return std::nullopt;
  const auto own = own_bounds(*constraints_, iterator);
  const auto ends =
      own && own->first == own->second ? own : free_range_in(*constraints_, definitions_, iterator);
  return ends && has_points() ? ends : std::nullopt;
}

std::optional<std::vector<int64_t>> DomainFacts::corner(const std::vector<bool>& is_last) const {
  std::vector<int64_t> at(definitions_.size(), 0);
  for (uint32_t d = 0; constraints_ && d < at.size(); ++d)
    if (const auto ends = definitions_[d] ? std::nullopt : own_bounds(*constraints_, d))
      at[d] = is_last[d] ? ends->second : ends->first;
  for (uint32_t d = 0; d < at.size(); ++d)
    if (definitions_[d])
      at[d] = scalar::evaluate_index(definitions_[d], at, {}).value_or(0);
  const auto is_met = [&](const PlainConstraint& c) { return !c.has_more && is_met_at(c, at); };
  return constraints_ && std::all_of(constraints_->begin(), constraints_->end(), is_met)
             ? std::optional(at)
             : std::nullopt;
}

bool DomainFacts::has_points() const {
  if (!has_points_)
    has_points_ =
        (constraints_ && leave_points(*constraints_, definitions_)) || !domain_.is_empty();
  return *has_points_;
}

std::shared_ptr<const DomainFacts> domain_facts_of(const ScopStatement& statement) {
  if (!statement.reading || statement.reading->domain().get() != statement.domain.get())
    statement.reading = std::make_shared<const DomainFacts>(statement.domain);
  return statement.reading;
}

std::optional<IteratorGroup> iterator_group_of(const DomainFacts& reading, uint32_t iterator,
                                               int64_t most) {
  const auto& constraints = reading.constraints();
  const std::vector<Expr>& definitions = reading.definitions();
  const auto tied =
      constraints ? tied_dimensions(*constraints, definitions.size(), iterator) : std::nullopt;
  if (!tied)
    return std::nullopt;
  std::vector<PlainConstraint> own;
  for (const PlainConstraint& constraint : *constraints)
    if (touches(constraint, *tied))
      own.push_back(constraint);
  const Bounds bounds = bounds_in(own, tied->size());
  std::vector<std::pair<uint32_t, Ends>> free;
  int64_t count = 1;
  for (uint32_t d = 0; d < tied->size(); ++d) {
    if (!(*tied)[d] || definitions[d])
      continue;
    const auto ends = bounds.of(d);
    if (!ends || ends->second < ends->first || ends->second - ends->first >= most)
      return std::nullopt;
    count *= ends->second - ends->first + 1;
    if (count > most)
      return std::nullopt;
    free.emplace_back(d, *ends);
  }
  if (!reading.has_points())
    return std::nullopt;
  IteratorGroup iterator_group{*tied, {}};
  for (int64_t n = 0; n < count; ++n) {
    std::vector<int64_t> at(tied->size(), 0);
    int64_t rest = n;
    for (auto one = free.rbegin(); one != free.rend(); ++one) {
      const int64_t size = one->second.second - one->second.first + 1;
      at[one->first] = one->second.first + rest % size;
      rest /= size;
    }
    for (uint32_t d = 0; d < tied->size(); ++d)
      if ((*tied)[d] && definitions[d])
        at[d] = scalar::evaluate_index(definitions[d], at, {}).value_or(0);
    if (std::all_of(own.begin(), own.end(),
                    [&](const PlainConstraint& c) { return is_met_at(c, at); }))
      iterator_group.points.push_back(std::move(at));
  }
  std::sort(iterator_group.points.begin(), iterator_group.points.end());
  return iterator_group;
}

std::optional<Ends> bounds_of_iterator(const DomainFacts& reading, uint32_t iterator) {
  return reading.constraints() ? own_bounds(*reading.constraints(), iterator) : std::nullopt;
}

bool differ_somewhere(const Expr& a, const Expr& b, const DomainFacts& reading) {
  constexpr int64_t kFew = 4096;
  std::vector<bool> is_placed(reading.definitions().size(), false);
  std::vector<std::vector<int64_t>> firsts, lasts;
  bool is_known = true;
  for (const Expr& e : {a, b})
    scalar::visit(e, [&](const Expr& n) {
      const auto* it = scalar::as<scalar::Iter>(n);
      if (it == nullptr || is_placed[it->index] || !is_known)
        return;
      const auto range = reading.free_range(it->index);
      const auto iterator_group =
          range ? std::nullopt : iterator_group_of(reading, it->index, kFew);
      is_known = range || (iterator_group && !iterator_group->points.empty());
      for (size_t d = 0; iterator_group && d < is_placed.size(); ++d)
        is_known = is_known && !(is_placed[d] && iterator_group->has[d]);
      if (!is_known)
        return;
      std::vector<int64_t> first(is_placed.size(), 0), last = first;
      first[it->index] = range ? range->first : 0;
      last[it->index] = range ? range->second : 0;
      firsts.push_back(range ? first : iterator_group->points.front());
      lasts.push_back(range ? last : iterator_group->points.back());
      for (size_t d = 0; d < is_placed.size(); ++d)
        is_placed[d] = is_placed[d] || (range ? d == it->index : iterator_group->has[d]);
    });
  // All at their first values, then one after the other at its last.
  for (size_t turn = 0; is_known && turn <= firsts.size(); ++turn) {
    std::vector<int64_t> at(is_placed.size(), 0);
    for (size_t k = 0; k < firsts.size(); ++k)
      for (size_t d = 0; d < at.size(); ++d)
        at[d] += k + 1 == turn ? lasts[k][d] : firsts[k][d];
    const auto one = scalar::evaluate_index(a, at, {}), other = scalar::evaluate_index(b, at, {});
    if (one && other && *one != *other)
      return true;
  }
  return false;
}

Expr canonical(const Expr& e, const std::vector<Expr>& definitions) {
  const Expr other = scalar::substitute_iters(e, definitions);
  return scalar::equal(other, e) ? e : scalar::simplify(other);
}

} // namespace kawara::poly
