#pragma once

#include "scalar/expr.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace kawara::program {

using Matrix = std::vector<std::vector<double>>;

/// The transforms of F(m, 3): y = A' ((G g) * (B' d)) for a window g of 3 and t = m + 2 values d.
struct WinogradMatrices {
  Matrix image;  ///< B', t x t
  Matrix window; ///< G, t x 3
  Matrix result; ///< A', m x t
};

/// From the points 0, 1, -1 and infinity for m = 2, and also 2, -2 for m = 4; nothing for another
/// m.
std::optional<WinogradMatrices> winograd_matrices(int64_t m);

/// Sum of matrix[row][k] * element(k), with what rows share written alike, so that it is computed
/// once: a row that has another's factors, some with the other sign, is the sum or the difference
/// of the same two parts.
scalar::Expr transformed_row(const Matrix&, size_t row,
                             const std::function<scalar::Expr(size_t)>& element);

} // namespace kawara::program
