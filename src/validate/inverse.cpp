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

class Solver {
public:
  Solver(size_t dimensions, const DimensionRanges& ranges, const std::map<uint32_t, int64_t>& steps)
      : ranges_(ranges), steps_(steps), found_(dimensions) {}

  std::optional<Inverse> solve(const std::vector<Expr>& iters) {
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

  /// Smallest factor first; each is a multiple of the one before, and larger than all that the digits before it can add up to. Moves the digits to begin at zero.
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

  const DimensionRanges& ranges_;
  const std::map<uint32_t, int64_t>& steps_;
  std::vector<Expr> found_;
  Inverse inverse_;
};

} // namespace

std::optional<Inverse> inverse_of(const std::vector<Expr>& iters, size_t dimensions,
                                  const DimensionRanges& ranges,
                                  const std::map<uint32_t, int64_t>& steps) {
  return Solver(dimensions, ranges, steps).solve(iters);
}

} // namespace kawara::validate
