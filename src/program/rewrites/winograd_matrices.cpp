#include "program/rewrites/winograd_matrices.h"

#include <algorithm>
#include <cmath>

namespace kawara::program {
namespace {

using scalar::Expr;

constexpr scalar::Type kElement{scalar::Elem::F32, 1};

/// A term of a sum; its factor is not zero.
struct Term {
  double factor = 0;
  Expr value;
};

Expr sum_of(const std::vector<Term>& terms) {
  Expr sum;
  for (const auto& [factor, value] : terms) {
    const Expr scaled =
        std::abs(factor) == 1 ? value : scalar::float_lit(std::abs(factor), kElement) * value;
    if (!sum)
      sum = factor < 0 ? scalar::unary(scalar::UnaryOp::Neg, scaled) : scaled;
    else
      sum = scalar::binary(factor < 0 ? scalar::BinaryOp::Sub : scalar::BinaryOp::Add, sum, scaled);
  }
  return sum ? sum : scalar::float_lit(0, kElement);
}

/// The sum as one term, a positive one first: terms of equal factors are added before they are
/// multiplied.
Term together(std::vector<Term> terms) {
  std::stable_partition(terms.begin(), terms.end(), [](const Term& t) { return t.factor > 0; });
  const double factor = std::abs(terms.front().factor);
  const bool is_even = std::all_of(terms.begin(), terms.end(),
                                   [&](const Term& t) { return std::abs(t.factor) == factor; });
  if (!is_even || terms.front().factor < 0)
    return {1, sum_of(terms)};
  for (Term& term : terms)
    term.factor /= factor;
  return {factor, sum_of(terms)};
}

/// Whether the rows have the same factors but for the sign of some, not of all.
bool is_mirrored(const std::vector<double>& a, const std::vector<double>& b) {
  size_t same = 0, other = 0, apart = 0;
  for (size_t k = 0; k < a.size(); ++k)
    if (a[k] != 0 || b[k] != 0)
      ++(a[k] == b[k] ? same : a[k] == -b[k] ? other : apart);
  return apart == 0 && same > 0 && other > 0;
}

} // namespace

Expr transformed_row(const Matrix& matrix, size_t row, const std::function<Expr(size_t)>& element) {
  const std::vector<double>& own = matrix[row];
  for (size_t other = 0; other < matrix.size(); ++other) {
    if (other == row || !is_mirrored(own, matrix[other]))
      continue;
    const std::vector<double>& first = matrix[std::min(row, other)];
    std::vector<Term> same, transposed;
    for (size_t k = 0; k < own.size(); ++k)
      if (own[k] != 0)
        (own[k] == matrix[other][k] ? same : transposed).push_back({first[k], element(k)});
    Term part = together(std::move(transposed));
    part.factor = row < other ? part.factor : -part.factor;
    return sum_of({together(std::move(same)), part});
  }
  std::vector<Term> terms;
  for (size_t k = 0; k < own.size(); ++k) {
    if (own[k] == 0)
      continue;
    const bool is_pair =
        k % 2 == 1 && k + 1 < own.size() && std::abs(own[k]) == std::abs(own[k + 1]);
    if (!is_pair)
      terms.push_back({own[k], element(k)});
    else {
      terms.push_back(together({{own[k], element(k)}, {own[k + 1], element(k + 1)}}));
      ++k;
    }
  }
  return sum_of(terms);
}

std::optional<WinogradMatrices> winograd_matrices(int64_t m) {
  if (m == 2)
    return WinogradMatrices{{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
                            {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
                            {{1, 1, 1, 0}, {0, 1, -1, -1}}};
  if (m != 4)
    return std::nullopt;
  const double sixth = 1.0 / 6, twelfth = 1.0 / 12, small = 1.0 / 24;
  return WinogradMatrices{
      {{4, 0, -5, 0, 1, 0},
       {0, -4, -4, 1, 1, 0},
       {0, 4, -4, -1, 1, 0},
       {0, -2, -1, 2, 1, 0},
       {0, 2, -1, -2, 1, 0},
       {0, 4, 0, -5, 0, 1}},
      {{0.25, 0, 0},
       {-sixth, -sixth, -sixth},
       {-sixth, sixth, -sixth},
       {small, twelfth, sixth},
       {small, -twelfth, sixth},
       {0, 0, 1}},
      {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}};
}

} // namespace kawara::program
