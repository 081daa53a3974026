#include "validate/meeting.h"

#include "poly/affine.h"
#include "poly/isl/text.h"
#include "scalar/affine_sum.h"
#include "validate/conditions.h"
#include "validate/example.h"

#include <algorithm>
#include <numeric>

namespace kawara::validate {
namespace {

using scalar::AffineSum;
using scalar::binary;
using scalar::BinaryOp;
using scalar::Expr;
using scalar::int_lit;
using Range = std::pair<int64_t, int64_t>;

constexpr uint32_t kAxes = 3;

void add_each(const Expr& condition, Around& around) {
  const auto* both = condition ? scalar::as<scalar::Binary>(condition) : nullptr;
  if (both != nullptr && both->op == BinaryOp::And) {
    add_each(both->lhs, around);
    add_each(both->rhs, around);
  } else if (condition && scalar::is_quasi_affine(condition))
    around.conditions.push_back(condition);
  else
    around.are_known = false;
}

/// The two touches over one list of dimensions: those of the first, its lane, those of the second,
/// its lane.
class Pair {
public:
  explicit Pair(const Meeting& meeting)
      : meeting_(meeting), first_(*meeting.first->around), second_(*meeting.second->around),
        other_(static_cast<uint32_t>(first_.numbers.size()) + 1) {
    ranges_ = first_.ranges;
    ranges_[other_ - 1] = {0, meeting.first->lanes - 1};
    ranges_[lane_of_second()] = {0, meeting.second->lanes - 1};
    for (uint32_t d = 0; d < second_.numbers.size(); ++d) {
      const Expr& tied = meeting.tied[d];
      dimensions_.push_back(tied ? tied : scalar::iter(other_ + d));
      const auto range = second_.ranges.find(d);
      if (!tied && range != second_.ranges.end())
        ranges_[other_ + d] = range->second;
    }
    for (const Expr& e : meeting.first->index)
      indices_.push_back(e ? with_dimension(e, kLane, other_ - 1) : e);
  }

  size_t dimensions() const { return lane_of_second() + 1; }
  const std::vector<Expr>& first_index() const { return indices_; }
  /// An expression of the second in these dimensions.
  Expr of_second(const Expr& e) const {
    return scalar::rewrite(e, [&](const Expr& n) -> Expr {
      const auto* dimension = scalar::as<scalar::Iter>(n);
      if (dimension == nullptr)
        return {};
      return dimension->index == kLane ? scalar::iter(lane_of_second())
                                       : dimensions_[dimension->index];
    });
  }
  std::vector<Expr> second_index() const {
    std::vector<Expr> index;
    for (const Expr& e : meeting_.second->index)
      index.push_back(e ? tidy(of_second(e)) : e);
    return index;
  }

  /// Whether expressions show that no element is touched by both.
  bool is_apart() {
    for (bool is_changed = true; is_changed;) {
      is_changed = false;
      const std::vector<Expr> second = second_index();
      for (size_t d = 0; d < indices_.size(); ++d) {
        if (!indices_[d] || !second[d])
          continue;
        const AffineSum sum =
            scalar::difference(scalar::affine_sum(indices_[d]), scalar::affine_sum(second[d]));
        if (is_never_zero(sum))
          return true;
        is_changed = find_equal_digits(sum) || is_changed;
      }
    }
    return is_alone();
  }
  /// One thread by itself, that may touch what it touched.
  bool is_alone() const { return !meeting_.has_same_thread && is_one_thread(); }

private:
  uint32_t lane_of_second() const { return other_ + static_cast<uint32_t>(second_.numbers.size()); }

  std::optional<Range> range_of(const Expr& term) const {
    const auto* dimension = scalar::as<scalar::Iter>(term);
    const auto known = dimension != nullptr ? ranges_.find(dimension->index) : ranges_.end();
    if (known != ranges_.end())
      return known->second;
    const scalar::Bounds bounds = scalar::bounds_of(term);
    return bounds.low && bounds.high ? std::optional(Range{*bounds.low, *bounds.high})
                                     : std::nullopt;
  }

  /// Smallest and largest value of some terms.
  std::optional<Range> range_of(const std::vector<std::pair<Expr, int64_t>>& terms) const {
    Range all{0, 0};
    for (const auto& [term, factor] : terms) {
      const auto range = range_of(term);
      if (!range)
        return std::nullopt;
      all.first += factor * (factor > 0 ? range->first : range->second);
      all.second += factor * (factor > 0 ? range->second : range->first);
    }
    return all;
  }

  bool is_never_zero(const AffineSum& sum) const {
    if (sum.terms.empty())
      return sum.constant != 0;
    int64_t divisor = 0;
    for (const auto& [term, factor] : sum.terms)
      divisor = std::gcd(divisor, factor);
    if (sum.constant % divisor != 0 || are_other_slots(sum))
      return true;
    const auto range = range_of(sum.terms);
    return range && (range->first + sum.constant > 0 || range->second + sum.constant < 0);
  }

  /// a % n - b % n, where a and b are apart by a number that n does not divide: slots of a ring.
  static bool are_other_slots(const AffineSum& sum) {
    if (sum.terms.size() != 2 || sum.constant != 0 || sum.terms[0].second != -sum.terms[1].second)
      return false;
    const auto* a = scalar::as<scalar::Binary>(sum.terms[0].first);
    const auto* b = scalar::as<scalar::Binary>(sum.terms[1].first);
    if (a == nullptr || b == nullptr || a->op != BinaryOp::Mod || b->op != BinaryOp::Mod)
      return false;
    const auto slots = scalar::constant_of(a->rhs);
    const auto distance = scalar::constant_of(difference_of(a->lhs, b->lhs));
    return slots && slots == scalar::constant_of(b->rhs) && distance && *distance % *slots != 0;
  }

  /// Digits from the largest down: where all that is smaller cannot make up for one step of a
  /// digit, both have the same one.
  bool find_equal_digits(const AffineSum& sum) {
    struct Digit {
      uint32_t dimension = 0; ///< of the first; the second has the same one
      int64_t factor = 0;
    };
    std::vector<Digit> digits;
    std::vector<std::pair<Expr, int64_t>> rest;
    for (const auto& [term, factor] : sum.terms) {
      const auto* iter = scalar::as<scalar::Iter>(term);
      const auto partner = [&](uint32_t wanted, int64_t opposite) {
        return std::any_of(sum.terms.begin(), sum.terms.end(), [&](const auto& other) {
          const auto* there = scalar::as<scalar::Iter>(other.first);
          return there != nullptr && there->index == wanted && other.second == opposite;
        });
      };
      if (iter != nullptr && is_own(iter->index) && partner(other_ + iter->index, -factor))
        digits.push_back({iter->index, factor});
      else if (iter == nullptr || iter->index < other_ || !is_own(iter->index - other_) ||
               !partner(iter->index - other_, -factor))
        rest.emplace_back(term, factor);
    }
    std::sort(digits.begin(), digits.end(), [](const Digit& a, const Digit& b) {
      return std::abs(a.factor) > std::abs(b.factor);
    });
    bool is_found = false;
    for (size_t n = 0; n < digits.size(); ++n) {
      auto smaller = rest;
      for (size_t m = n + 1; m < digits.size(); ++m) {
        smaller.emplace_back(scalar::iter(digits[m].dimension), digits[m].factor);
        smaller.emplace_back(scalar::iter(other_ + digits[m].dimension), -digits[m].factor);
      }
      const auto range = range_of(smaller);
      const int64_t step = std::abs(digits[n].factor);
      if (!range || range->first + sum.constant <= -step || range->second + sum.constant >= step)
        break;
      dimensions_[digits[n].dimension] = scalar::iter(digits[n].dimension);
      is_found = true;
    }
    return is_found;
  }

  /// A dimension that both have, each with a value of its own as yet.
  bool is_own(uint32_t dimension) const {
    if (dimension >= first_.numbers.size() || dimension >= second_.numbers.size())
      return false;
    const auto* there = scalar::as<scalar::Iter>(dimensions_[dimension]);
    return there != nullptr && there->index == other_ + dimension;
  }

  bool is_one_thread() const {
    for (size_t a = 0; a < kAxes; ++a) {
      const auto axis = static_cast<uint32_t>(first_.threads + a);
      const auto* there = scalar::as<scalar::Iter>(dimensions_[axis]);
      const auto one = range_of(scalar::iter(axis)), other = range_of(dimensions_[axis]);
      const bool is_fixed =
          one && other && one->first == one->second && other == one; // if thread_x == 0
      if (!is_fixed && (there == nullptr || there->index != axis))
        return false;
    }
    return true;
  }

  const Meeting& meeting_;
  const Around &first_, &second_;
  uint32_t other_;               ///< the second's first dimension
  std::vector<Expr> dimensions_; ///< of the second
  std::vector<Expr> indices_;    ///< of the first
  DimensionRanges ranges_;
};

class Sets {
public:
  explicit Sets(const poly::Scop& scop) : scop_(scop) {}

  isl::set universe(size_t dimensions) const {
    return poly::statement_universe(scop_.context_owner->get(), scop_.params, "pair", dimensions)
        .intersect_params(scop_.context);
  }
  isl::set in(const isl::set& domain, const Expr& condition) const {
    return restricted(domain, scalar::simplify(condition), scop_.params);
  }
  isl::set counted(const isl::set& domain, uint32_t dimension, int64_t count) const {
    return in(in(domain, binary(BinaryOp::Ge, scalar::iter(dimension), int_lit(0))),
              binary(BinaryOp::Lt, scalar::iter(dimension), int_lit(count)));
  }
  std::string example(const isl::set& points, uint32_t first, uint32_t second) const {
    std::vector<Expr> threads;
    for (const uint32_t from : {first, second})
      for (uint32_t a = 0; a < kAxes; ++a)
        threads.push_back(scalar::iter(from + a));
    const isl::set range = poly::statement_universe(scop_.context_owner->get(), scop_.params,
                                                    "threads", threads.size());
    const isl::set all = poly::map_from_exprs(threads, points, range, scop_.params).range();
    return poly::text_of(isl::set(all.sample_point()));
  }
  MeetingAnswer answer(const isl::set& points, bool is_exact, uint32_t first,
                       uint32_t second) const {
    const isl::set some = points_at_some_sizes(points, scop_.params);
    if (some.is_empty())
      return {};
    return is_exact ? MeetingAnswer{Meets::Sometimes, example(some, first, second)}
                    : MeetingAnswer{Meets::Unknown, "a condition is not affine"};
  }

private:
  const poly::Scop& scop_;
};

/// The number of a thread in its block.
Expr thread_at(uint32_t first, const Around& around) {
  Expr number = int_lit(0);
  int64_t stride = 1;
  for (uint32_t a = 0; a < kAxes; ++a) {
    number = number + scalar::iter(first + a) * int_lit(stride);
    stride *= around.counts[a];
  }
  return tidy(number);
}

bool are_affine(const std::vector<Expr>& list) {
  return std::all_of(list.begin(), list.end(),
                     [](const Expr& e) { return e && scalar::is_quasi_affine(e); });
}

} // namespace

std::shared_ptr<const Around> around_of(const std::vector<uint32_t>& numbers,
                                        const std::vector<Expr>& conditions, size_t threads,
                                        const std::array<int64_t, 3>& counts) {
  auto around = std::make_shared<Around>();
  around->numbers = numbers;
  around->threads = threads;
  around->counts = counts;
  for (const Expr& condition : conditions)
    add_each(condition, *around);
  around->ranges = ranges_in(around->conditions);
  for (const Expr& condition : around->conditions)
    if (const auto* equal = scalar::as<scalar::Binary>(condition);
        equal != nullptr && equal->op == BinaryOp::Eq)
      if (const auto* dimension = scalar::as<scalar::Iter>(equal->lhs))
        if (const auto number = scalar::constant_of(equal->rhs))
          around->ranges[dimension->index] = {*number, *number};
  return around;
}

MeetingAnswer answer_of(const Meeting& meeting, const poly::Scop& scop) {
  const ThreadTouch &first = *meeting.first, &second = *meeting.second;
  const bool is_any =
      first.is_whole || second.is_whole || first.index.size() != second.index.size();
  Pair pair(meeting);
  if (is_any ? pair.is_alone() : pair.is_apart())
    return {};
  if (is_any || !are_affine(first.index) || !are_affine(second.index))
    return {Meets::Unknown, "an index is not affine"};
  const Pair whole(meeting); // without what was found out
  const Sets sets(scop);
  const auto other = static_cast<uint32_t>(first.around->numbers.size()) + 1;
  isl::set points = sets.universe(whole.dimensions());
  const std::vector<Expr> there = whole.second_index();
  for (size_t d = 0; d < there.size(); ++d)
    points = sets.in(points, binary(BinaryOp::Eq, whole.first_index()[d], there[d]));
  points = sets.counted(points, other - 1, first.lanes);
  points = sets.counted(points, static_cast<uint32_t>(whole.dimensions()) - 1, second.lanes);
  for (const Expr& condition : first.around->conditions)
    points = sets.in(points, condition);
  for (const Expr& condition : second.around->conditions)
    points = sets.in(points, whole.of_second(condition));
  for (const Expr& condition : meeting.conditions)
    points = sets.in(points, condition);
  const auto threads = static_cast<uint32_t>(first.around->threads);
  if (!meeting.has_same_thread) {
    const Expr a = thread_at(threads, *first.around), b = thread_at(other + threads, *first.around);
    points = sets.in(points, binary(BinaryOp::Lt, a, b))
                 .unite(sets.in(points, binary(BinaryOp::Gt, a, b)));
  }
  return sets.answer(points, first.around->are_known && second.around->are_known, threads,
                     other + threads);
}

MeetingAnswer may_disagree(const Expr& e, const Around& around, const poly::Scop& scop) {
  if (!e || !scalar::is_quasi_affine(e))
    return {Meets::Unknown, "it is not affine"};
  const auto threads = static_cast<uint32_t>(around.threads);
  if (!uses_dimensions({e}, threads, threads + kAxes))
    return {};
  const auto count = static_cast<uint32_t>(around.numbers.size());
  const auto in_other = [&](const Expr& x) {
    Expr result = x;
    for (uint32_t a = 0; a < kAxes; ++a)
      result = with_dimension(result, threads + a, count + a);
    return result;
  };
  const Sets sets(scop);
  isl::set points = sets.universe(count + kAxes);
  for (const Expr& condition : around.conditions)
    points = sets.in(sets.in(points, condition), in_other(condition));
  if (e.type() == scalar::kIndex)
    points = sets.in(points, binary(BinaryOp::Ne, e, in_other(e)));
  else
    points = sets.in(sets.in(points, e), scalar::unary(scalar::UnaryOp::Not, in_other(e)));
  return sets.answer(points, around.are_known, threads, count);
}

} // namespace kawara::validate
