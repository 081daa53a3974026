#pragma once

#include "estimate/bounds/rational.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace kawara::estimate {

using Row = std::vector<Rational>;
using Matrix = std::vector<Row>; ///< rows of one length

/// Row echelon form with ones in front; rows of zeros are gone. What it keeps is the span.
Matrix reduced(Matrix);

/// A subspace of Q^n: the span of the rows of a reduced matrix, which is its only form.
class Subspace {
public:
  Subspace(size_t n, const Matrix& rows) : n_(n), rows_(reduced(rows)) {}
  size_t dimension() const { return rows_.size(); }
  const Matrix& rows() const { return rows_; }
  friend bool operator==(const Subspace&, const Subspace&) = default;

  friend Subspace sum(const Subspace&, const Subspace&);
  friend Subspace intersection(const Subspace&, const Subspace&);

private:
  size_t n_;
  Matrix rows_;
};

/// The vectors of Q^n that each row takes to 0.
Subspace kernel_of(const Matrix&, size_t n);

/// Dimension of what the matrix makes of the subspace.
size_t image_dimension(const Matrix&, const Subspace&);

/// The solution of `a x = b` for a square matrix; nothing where there is not exactly one.
std::optional<Row> solution(Matrix a, const Row& b);

} // namespace kawara::estimate
