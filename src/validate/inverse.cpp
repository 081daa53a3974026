#include "validate/inverse.h"

#include "scalar/affine_sum.h"

#include <algorithm>

namespace kawara::validate {
namespace {

using scalar::AffineSum;
using scalar::binary;
using scalar::BinaryOp;
using scalar::Expr;
using scalar::int_lit;

bool has_cases(const Expr& e) {
  bool found = false;
  scalar::visit(e, [&](const Expr& n) {
    const auto* both = scalar::as<scalar::Binary>(n);
    found = found || scalar::as<scalar::Select>(n) != nullptr ||
            (both != nullptr && (both->op == BinaryOp::Min || both->op == BinaryOp::Max));
  });
  return found;
}

/// Dimension `from` becomes `to`.
Expr with_value(const Expr& e, uint32_t from, const Expr& to) {
  return scalar::rewrite(e, [&](const Expr& n) -> Expr {
    const auto* dimension = scalar::as<scalar::Iter>(n);
    return dimension != nullptr && dimension->index == from ? to : Expr();
  });
}

/// The dimension that is divided by a number here.
struct Divided {
  uint32_t dimension = 0;
  int64_t by = 1;
};
std::optional<Divided> divided_in(const scalar::Binary* b) {
  if (b == nullptr || (b->op != BinaryOp::FloorDiv && b->op != BinaryOp::Mod))
    return std::nullopt;
  const auto* dimension = scalar::as<scalar::Iter>(b->lhs);
  const auto by = scalar::constant_of(b->rhs);
  if (dimension == nullptr || !by || *by < 2)
    return std::nullopt;
  return Divided{dimension->index, *by};
}

/// The same with quotient and remainder for the dimension.
Expr with_split(const Expr& e, const Inverse::Split& split) {
  const Expr quotient = scalar::iter(split.quotient), remainder = scalar::iter(split.remainder);
  const Expr divided = scalar::rewrite(e, [&](const Expr& n) -> Expr {
    const auto* b = scalar::as<scalar::Binary>(n);
    if (const auto found = divided_in(b);
        found && found->dimension == split.dimension && found->by % split.divisor == 0) {
      const int64_t more = found->by / split.divisor;
      if (b->op == BinaryOp::FloorDiv)
        return more == 1 ? quotient : binary(BinaryOp::FloorDiv, quotient, int_lit(more));
      return more == 1 ? remainder
                       : binary(BinaryOp::Mod, quotient, int_lit(more)) * int_lit(split.divisor) +
                             remainder;
    }
    // A bound at whole quotients is one of the quotient.
    if (b == nullptr || (b->op != BinaryOp::Lt && b->op != BinaryOp::Ge))
      return {};
    const auto* dimension = scalar::as<scalar::Iter>(b->lhs);
    const auto bound = scalar::constant_of(b->rhs);
    if (dimension == nullptr || dimension->index != split.dimension || !bound ||
        *bound % split.divisor != 0)
      return {};
    return binary(b->op, quotient, int_lit(*bound / split.divisor));
  });
  return with_value(divided, split.dimension, quotient * int_lit(split.divisor) + remainder);
}

/// What is divided by a number, or taken the remainder of.
const Expr* dividend_in(const Expr& e) {
  const auto* b = scalar::as<scalar::Binary>(e);
  const bool divides = b != nullptr && (b->op == BinaryOp::FloorDiv || b->op == BinaryOp::Mod) &&
                       scalar::constant_of(b->rhs).value_or(0) > 1;
  return divides ? &b->lhs : nullptr;
}

/// The same with the whole for the sum, and its digits for the dimensions.
Expr with_joint(const Expr& e, const Inverse::Joint& joint) {
  Expr there = scalar::rewrite(e, [&](const Expr& n) -> Expr {
    const Expr* dividend = dividend_in(n);
    if (dividend == nullptr || scalar::constant_of(difference_of(*dividend, joint.sum)) != 0)
      return {};
    const auto* b = scalar::as<scalar::Binary>(n);
    return binary(b->op, scalar::iter(joint.whole), b->rhs);
  });
  for (const auto& [dimension, digit] : joint.digits)
    there = with_value(there, dimension, digit);
  return there;
}

Expr with_change(const Expr& e, const std::variant<Inverse::Split, Inverse::Joint>& change) {
  const auto* split = std::get_if<Inverse::Split>(&change);
  return split != nullptr ? with_split(e, *split) : with_joint(e, std::get<Inverse::Joint>(change));
}

/// The least divisor of a dimension where all others are multiples of it, and the dimensions that
/// are divided.
std::map<uint32_t, int64_t> divisors_in(const std::vector<Expr>& iters) {
  std::map<uint32_t, int64_t> least;
  std::map<uint32_t, std::vector<int64_t>> all;
  for (const Expr& e : iters)
    scalar::visit(e, [&](const Expr& n) {
      if (const auto found = divided_in(scalar::as<scalar::Binary>(n)))
        all[found->dimension].push_back(found->by);
    });
  for (const auto& [dimension, divisors] : all) {
    const int64_t smallest = *std::min_element(divisors.begin(), divisors.end());
    if (std::all_of(divisors.begin(), divisors.end(),
                    [&](int64_t by) { return by % smallest == 0; }))
      least[dimension] = smallest;
  }
  return least;
}

class Solver {
public:
  Solver(size_t dimensions, DimensionRanges ranges, const std::map<uint32_t, int64_t>& steps)
      : ranges_(std::move(ranges)), steps_(steps), found_(dimensions) {}

  std::optional<Inverse> solve(std::vector<Expr> iters) {
    while (join(iters) || split(iters)) {}
    for (const auto& [dimension, range] : ranges_)
      if (dimension < found_.size() && range.first == range.second)
        found_[dimension] = int_lit(range.first);
    std::vector<bool> is_done(iters.size());
    inverse_.is_sum_of_digits.resize(iters.size());
    for (bool is_changed = true; is_changed;) {
      is_changed = false;
      for (size_t d = 0; d < iters.size(); ++d)
        if (!is_done[d] && take(iters[d], static_cast<uint32_t>(d))) {
          is_done[d] = true;
          is_changed = true;
        }
    }
    for (auto change = inverse_.changes.rbegin(); change != inverse_.changes.rend(); ++change)
      take_back(*change);
    if (!std::all_of(found_.begin(), found_.end(), [](const Expr& e) { return bool(e); }))
      return std::nullopt;
    inverse_.dimensions = found_;
    return inverse_;
  }

private:
  struct Digit {
    uint32_t dimension = 0;
    int64_t factor = 0;
    std::optional<std::pair<int64_t, int64_t>> range;
    int64_t step = 1; ///< the dimension is that many times the digit
  };

  Digit digit_of(uint32_t dimension, int64_t factor) const {
    Digit digit{dimension, factor, std::nullopt};
    if (const auto range = ranges_.find(dimension); range != ranges_.end())
      digit.range = range->second;
    const auto step = steps_.find(dimension);
    // Only from a multiple of the step on, which division keeps.
    if (step == steps_.end() || (digit.range && digit.range->first < 0))
      return digit;
    digit.step = step->second;
    digit.factor *= digit.step;
    if (digit.range)
      digit.range = {(digit.range->first + digit.step - 1) / digit.step,
                     digit.range->second / digit.step};
    return digit;
  }

  /// Dimensions that were changed, of what they became.
  void take_back(const std::variant<Inverse::Split, Inverse::Joint>& change) {
    if (const auto* split = std::get_if<Inverse::Split>(&change)) {
      const Expr &quotient = found_[split->quotient], &remainder = found_[split->remainder];
      if (quotient && remainder)
        found_[split->dimension] = scalar::simplify(quotient * int_lit(split->divisor) + remainder);
      return;
    }
    const auto& joint = std::get<Inverse::Joint>(change);
    if (found_[joint.whole])
      for (const auto& [dimension, digit] : joint.digits)
        found_[dimension] = scalar::simplify(with_value(digit, joint.whole, found_[joint.whole]));
  }

  /// Makes one dimension of those that are divided together.
  bool join(std::vector<Expr>& iters) {
    Expr sum;
    for (const Expr& e : iters)
      scalar::visit(e, [&](const Expr& n) {
        const Expr* dividend = dividend_in(n);
        if (dividend != nullptr && !sum && scalar::affine_sum(*dividend).terms.size() > 1)
          sum = *dividend;
      });
    const auto joint = sum ? joint_of(sum) : std::nullopt;
    if (!joint)
      return false;
    for (Expr& e : iters)
      e = tidy(with_joint(e, *joint));
    inverse_.changes.emplace_back(*joint);
    return true;
  }

  /// Of a sum of digits that begin at zero.
  std::optional<Inverse::Joint> joint_of(const Expr& sum) {
    const AffineSum parts = scalar::affine_sum(sum);
    std::vector<Digit> digits;
    for (const auto& [term, factor] : parts.terms) {
      const auto* dimension = scalar::as<scalar::Iter>(term);
      if (dimension == nullptr || steps_.contains(dimension->index))
        return std::nullopt;
      digits.push_back(digit_of(dimension->index, factor));
    }
    Expr rest = int_lit(0);
    if (parts.constant != 0 || !are_apart(digits, rest) || digits.front().factor != 1 ||
        std::any_of(digits.begin(), digits.end(),
                    [](const Digit& digit) { return !digit.range || digit.range->first != 0; }))
      return std::nullopt;
    Inverse::Joint joint{static_cast<uint32_t>(found_.size()), sum, {}};
    found_.emplace_back();
    int64_t most = 0;
    for (size_t n = 0; n < digits.size(); ++n) {
      Expr value = scalar::iter(joint.whole);
      if (n + 1 < digits.size())
        value = binary(BinaryOp::Mod, value, int_lit(digits[n + 1].factor));
      if (digits[n].factor != 1)
        value = binary(BinaryOp::FloorDiv, value, int_lit(digits[n].factor));
      joint.digits.emplace_back(digits[n].dimension, value);
      most += digits[n].factor * digits[n].range->second;
    }
    ranges_[joint.whole] = {0, most};
    return joint;
  }

  /// Makes two dimensions of each that is divided.
  bool split(std::vector<Expr>& iters) {
    bool is_changed = false;
    for (const auto& [dimension, divisor] : divisors_in(iters)) {
      if (steps_.contains(dimension))
        continue;
      const auto first = static_cast<uint32_t>(found_.size());
      found_.resize(found_.size() + 2);
      const Inverse::Split made{dimension, first, first + 1, divisor};
      inverse_.changes.emplace_back(made);
      ranges_[made.remainder] = {0, divisor - 1};
      if (const auto range = ranges_.find(dimension); range != ranges_.end())
        ranges_[made.quotient] = {floor_of(range->second.first, divisor),
                                  floor_of(range->second.second, divisor)};
      for (Expr& e : iters)
        e = tidy(with_split(e, made));
      is_changed = true;
    }
    return is_changed;
  }
  static int64_t floor_of(int64_t value, int64_t divisor) {
    return value >= 0 ? value / divisor : -((-value + divisor - 1) / divisor);
  }

  /// The digits that are not known yet, of what remains of an iterator.
  bool take(const Expr& e, uint32_t iterator) {
    const AffineSum sum = scalar::affine_sum(e);
    Expr rest = scalar::iter(iterator) - int_lit(sum.constant);
    std::vector<Digit> digits;
    for (const auto& [term, factor] : sum.terms) {
      const auto* dimension = scalar::as<scalar::Iter>(term);
      if (dimension == nullptr) { // sizes move the whole; divisions of dimensions are no digits
        if (uses_dimensions({term}, 0, kLane + 1) || has_cases(term))
          return false;
        rest = rest - term * int_lit(factor);
      } else if (found_[dimension->index])
        rest = rest - found_[dimension->index] * int_lit(factor);
      else {
        digits.push_back(digit_of(dimension->index, factor));
      }
    }
    if (digits.empty() || !are_apart(digits, rest))
      return false;
    inverse_.is_sum_of_digits[iterator] = digits.front().factor == 1;
    place(digits, rest);
    return true;
  }

  /// Smallest factor first; each is a multiple of the one before, and larger than all that the
  /// digits before it can add up to. Moves the digits to begin at zero.
  static bool are_apart(std::vector<Digit>& digits, Expr& rest) {
    std::sort(digits.begin(), digits.end(),
              [](const Digit& a, const Digit& b) { return a.factor < b.factor; });
    int64_t reach = 0;
    for (size_t n = 0; n < digits.size(); ++n) {
      const Digit& digit = digits[n];
      const bool is_last = n + 1 == digits.size();
      if (digit.factor <= reach || (!digit.range && !is_last) ||
          (n > 0 && digit.factor % digits[n - 1].factor != 0))
        return false;
      if (!digit.range)
        continue;
      rest = rest - int_lit(digit.factor * digit.range->first);
      reach += digit.factor * (digit.range->second - digit.range->first);
    }
    return true;
  }

  void place(const std::vector<Digit>& digits, const Expr& rest) {
    const Expr whole = tidy(rest);
    for (size_t n = 0; n < digits.size(); ++n) {
      const Digit& digit = digits[n];
      const bool is_last = n + 1 == digits.size();
      Expr value = whole;
      if (!is_last)
        value = binary(BinaryOp::Mod, value, int_lit(digits[n + 1].factor));
      if (digit.factor != 1)
        value = binary(BinaryOp::FloorDiv, value, int_lit(digit.factor));
      if (digit.range && digit.range->first != 0)
        value = value + int_lit(digit.range->first);
      if (digit.step != 1)
        value = value * int_lit(digit.step);
      found_[digit.dimension] = scalar::simplify(value);
    }
  }

  DimensionRanges ranges_;
  const std::map<uint32_t, int64_t>& steps_;
  std::vector<Expr> found_;
  Inverse inverse_;
};

} // namespace

Expr Inverse::of_instance(const Expr& e) const {
  Expr there = e;
  for (const auto& change : changes)
    there = with_change(there, change);
  return scalar::simplify(scalar::substitute_iters(there, dimensions));
}

std::vector<Expr> Inverse::conditions() const {
  std::vector<Expr> all;
  for (const auto& change : changes)
    if (const auto* split = std::get_if<Split>(&change)) {
      const Expr& remainder = dimensions[split->remainder];
      all.push_back(binary(BinaryOp::Ge, remainder, int_lit(0)));
      all.push_back(binary(BinaryOp::Lt, remainder, int_lit(split->divisor)));
    }
  return all;
}

std::optional<Inverse> inverse_of(const std::vector<Expr>& iters, size_t dimensions,
                                  const DimensionRanges& ranges,
                                  const std::map<uint32_t, int64_t>& steps) {
  return Solver(dimensions, ranges, steps).solve(iters);
}

} // namespace kawara::validate
