#include "estimate/bounds/subspace.h"

#include <algorithm>

namespace kawara::estimate {
namespace {

void subtract(Row& from, const Row& row, Rational factor) {
  for (size_t k = 0; k < from.size(); ++k)
    from[k] = from[k] - row[k] * factor;
}

/// The column of the first entry that is not zero.
size_t front_of(const Row& row) {
  return static_cast<size_t>(
      std::find_if(row.begin(), row.end(), [](const Rational& x) { return !x.is_zero(); }) -
      row.begin());
}

} // namespace

FractionMatrix reduced(FractionMatrix rows) {
  const size_t columns = rows.empty() ? 0 : rows.front().size();
  size_t done = 0;
  for (size_t column = 0; column < columns && done < rows.size(); ++column) {
    const auto pivot = std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(done), rows.end(),
                                    [&](const Row& row) { return !row[column].is_zero(); });
    if (pivot == rows.end())
      continue;
    std::swap(rows[done], *pivot);
    const Rational front = rows[done][column];
    for (Rational& entry : rows[done])
      entry = entry / front;
    for (size_t r = 0; r < rows.size(); ++r)
      if (r != done && !rows[r][column].is_zero())
        subtract(rows[r], rows[done], rows[r][column]);
    ++done;
  }
  rows.resize(done);
  return rows;
}

Subspace kernel_of(const FractionMatrix& matrix, size_t n) {
  const FractionMatrix rows = reduced(matrix);
  std::vector<size_t> fronts;
  for (const Row& row : rows)
    fronts.push_back(front_of(row));
  FractionMatrix basis;
  for (size_t column = 0; column < n; ++column) {
    if (std::find(fronts.begin(), fronts.end(), column) != fronts.end())
      continue;
    Row vector(n);
    vector[column] = 1;
    for (size_t r = 0; r < rows.size(); ++r)
      vector[fronts[r]] = Rational(0) - rows[r][column];
    basis.push_back(std::move(vector));
  }
  return {n, basis};
}

Subspace sum(const Subspace& a, const Subspace& b) {
  FractionMatrix rows = a.rows_;
  rows.insert(rows.end(), b.rows_.begin(), b.rows_.end());
  return {a.n_, rows};
}

Subspace intersection(const Subspace& a, const Subspace& b) {
  // What is orthogonal to either is orthogonal to both.
  FractionMatrix rows = kernel_of(a.rows_, a.n_).rows_;
  const FractionMatrix others = kernel_of(b.rows_, b.n_).rows_;
  rows.insert(rows.end(), others.begin(), others.end());
  return kernel_of(rows, a.n_);
}

size_t image_dimension(const FractionMatrix& matrix, const Subspace& subspace) {
  FractionMatrix images;
  for (const Row& vector : subspace.rows()) {
    Row image;
    for (const Row& row : matrix) {
      Rational sum;
      for (size_t k = 0; k < row.size(); ++k)
        sum = sum + row[k] * vector[k];
      image.push_back(sum);
    }
    images.push_back(std::move(image));
  }
  return reduced(std::move(images)).size();
}

std::optional<Row> solution(FractionMatrix a, const Row& b) {
  const size_t n = a.size();
  for (size_t r = 0; r < n; ++r)
    a[r].push_back(b[r]);
  const FractionMatrix rows = reduced(std::move(a));
  if (rows.size() != n || (n > 0 && front_of(rows.back()) != n - 1))
    return std::nullopt;
  Row found;
  for (const Row& row : rows)
    found.push_back(row.back());
  return found;
}

} // namespace kawara::estimate
