#pragma once

#include "scalar/expand/polynomial.h"
#include "support/result.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kawara::schedule {

/// How a value depends on reductions that are not finished yet:
///
///   value = rest * exp(-rate * m[element]) * factor * factor * ...
///
/// where `rest` depends on none of them. So m may be replaced by another value m', and the result
/// put right afterwards: value(m) = value(m') * exp(rate * (m' - m)). This is the law that lets
/// `online` run a sum together with the maximum that it needs.
struct Law {
  struct Factor {
    scalar::Expr value; ///< over the statement's iterators
    bool is_divisor = false;
  };
  scalar::Polynomial rate;           ///< literals and scalar inputs only; empty: no exponential
  uint32_t reference = 0;            ///< the tensor m, when there is a rate
  std::vector<scalar::Expr> element; ///< of m, over the statement's iterators
  std::vector<Factor> factors;       ///< from finished values: they can be applied after the sum
  bool is_trivial() const { return rate.empty() && factors.empty(); }
};
bool equal(const Law&, const Law&);
/// The law of the same value, its iterators replaced.
Law substituted(const Law&, const std::vector<scalar::Expr>& iters);

/// `rate * (e - m)` inside an exponential: what must not exceed m for the running value to be safe.
struct Exponent {
  scalar::Polynomial rate, rest; ///< the exponent is rest - rate * m[element]
  std::vector<scalar::Expr> element;
};

/// What the loads of a statement are to the law.
struct LoadFacts {
  /// The tensor is reduced by an earlier loop; its final value is asked for.
  std::function<bool(uint32_t tensor)> is_final;
  /// Such a tensor whose running value never moves back and starts at an infinity (max, min).
  std::function<bool(uint32_t tensor)> is_extreme;
  /// The same value wherever it is read (a scalar input).
  std::function<bool(const scalar::Load&)> is_constant;
  /// The law of a temp that was computed with running values, over the reader's iterators; trivial:
  /// it was not.
  std::function<Law(const scalar::Load&)> law_of_load;
  std::function<std::string(const scalar::Expr&)> text; ///< an expression as the user wrote it
};

struct Derived {
  Law law;
  scalar::Expr value; ///< without the factors; still with m
  std::vector<Exponent> exponents;
};

/// The law of `value`, proved by taking it apart: products and quotients multiply laws, sums need
/// equal ones, exp of something linear in m is the law itself. Fails with a sentence that names the
/// part that obeys none.
Result<Derived, std::string> derive_law(const scalar::Expr& value, const LoadFacts&);

} // namespace kawara::schedule
