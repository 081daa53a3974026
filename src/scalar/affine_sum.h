#pragma once

#include "scalar/expr.h"

#include <optional>
#include <utility>
#include <vector>

namespace kawara::scalar {

/// An i64 expression as `sum of coefficient * term + constant`. Terms are not sums themselves,
/// pairwise different, in order of first appearance; coefficients are not zero. Arithmetic on
/// coefficients wraps, as i64 arithmetic does.
struct AffineSum {
  std::vector<std::pair<Expr, int64_t>> terms;
  int64_t constant = 0;
};

/// Every i64 expression is one: at worst a single term.
AffineSum affine_sum(const Expr& e);

/// The sum as an expression: positive terms first, the constant last, `i*4 + j - k - 3`.
Expr expr_of(const AffineSum&);

AffineSum difference(const AffineSum& a, const AffineSum& b);

/// `sum // divisor` and `sum % divisor` for a positive divisor, with everything that is a multiple
/// of the divisor taken out: (i*4 + j)//4 = i + j//4, (i*4 + j)%4 = j%4, (i*6 + 5)//4 = (i*3 +
/// 2)//2.
Expr divide_sum(const AffineSum&, int64_t divisor);
Expr reduce_sum(const AffineSum&, int64_t divisor);

/// Smallest and largest value that follow from the shape of `e` alone (x % 4 is in 0..3).
struct Bounds {
  std::optional<int64_t> low, high;
};
Bounds bounds_of(const Expr& e);

} // namespace kawara::scalar
