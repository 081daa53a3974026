#pragma once

#include "scalar/expr.h"

#include <optional>
#include <vector>

namespace kawara::scalar {

/// coefficient * atom * atom * ...; the atoms may repeat.
struct Monomial {
  double coefficient = 0;
  std::vector<Expr> atoms;
};

/// A float expression as real arithmetic sees it: a sum of monomials with different atoms. Empty:
/// zero. Atoms are whatever is no sum, difference, product, negation, quotient by a literal or
/// conversion between floats. Rounding is not modelled, so two equal polynomials are equal up to
/// rounding.
using Polynomial = std::vector<Monomial>;

Polynomial polynomial_of(const Expr&);
Polynomial constant_polynomial(double);
Polynomial operator+(const Polynomial&, const Polynomial&);
Polynomial operator-(const Polynomial&, const Polynomial&);
Polynomial operator*(const Polynomial&, const Polynomial&);
/// The same monomials with the same coefficients, in any order.
bool equal(const Polynomial&, const Polynomial&);

/// p = slope * atom + rest, where neither has the atom in a monomial of its own; `is_linear` is
/// false when some monomial has it more than once.
struct Linear {
  Polynomial slope, rest;
  bool is_linear = true;
};
Linear linear_in(const Polynomial&, const Expr& atom);

/// The literal that the polynomial is; nothing when it has atoms.
std::optional<double> constant_of(const Polynomial&);

/// The polynomial as an expression of a float type; atoms are converted to it.
Expr expr_of(const Polynomial&, Type);

} // namespace kawara::scalar
