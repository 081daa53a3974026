#pragma once

#include "estimate/bounds/rational.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace kawara::estimate {

using Row = std::vector<Rational>;
using FractionMatrix = std::vector<Row>; ///< rows of one length

/// Row echelon form with ones in front; rows of zeros are gone. What it keeps is the span.
FractionMatrix reduced(FractionMatrix);

/// A subspace of Q^n: the span of the rows of a reduced matrix, which is its only form.
class Subspace {
public:
  Subspace(size_t n, const FractionMatrix& rows) : n_(n), rows_(reduced(rows)) {}
  size_t dimension() const { return rows_.size(); }
  const FractionMatrix& rows() const { return rows_; }
  friend bool operator==(const Subspace&, const Subspace&) = default;

  friend Subspace sum(const Subspace&, const Subspace&);
  friend Subspace intersection(const Subspace&, const Subspace&);

private:
  size_t n_;
  FractionMatrix rows_;
};

/// The vectors of Q^n that each row takes to 0.
Subspace kernel_of(const FractionMatrix&, size_t n);

/// Dimension of what the matrix makes of the subspace.
size_t image_dimension(const FractionMatrix&, const Subspace&);

/// The solution of `a x = b` for a square matrix; nothing where there is not exactly one.
std::optional<Row> solution(FractionMatrix a, const Row& b);

} // namespace kawara::estimate
