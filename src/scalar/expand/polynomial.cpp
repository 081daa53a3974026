#include "scalar/expand/polynomial.h"

#include <algorithm>
#include <optional>

namespace kawara::scalar {
namespace {

/// A product that would have more is left as it is written.
constexpr size_t kMostMonomials = 64;

/// A literal as real arithmetic sees it, through conversions.
std::optional<double> literal_of(const Expr& e) {
  if (const auto* f = as<FloatLit>(e))
    return f->value;
  if (const auto* i = as<IntLit>(e))
    return static_cast<double>(i->value);
  if (const auto* c = as<Cast>(e))
    return literal_of(c->arg);
  return std::nullopt;
}

bool have_same_atoms(const Monomial& a, const Monomial& b) {
  if (a.atoms.size() != b.atoms.size())
    return false;
  std::vector<Expr> left = b.atoms;
  for (const Expr& atom : a.atoms) {
    const auto found =
        std::find_if(left.begin(), left.end(), [&](const Expr& e) { return equal(e, atom); });
    if (found == left.end())
      return false;
    left.erase(found);
  }
  return true;
}

void add(Polynomial& to, const Monomial& m) {
  const auto known = std::find_if(to.begin(), to.end(),
                                  [&](const Monomial& own) { return have_same_atoms(own, m); });
  if (known == to.end())
    to.push_back(m);
  else
    known->coefficient += m.coefficient;
  std::erase_if(to, [](const Monomial& own) { return own.coefficient == 0; });
}

Polynomial scaled(const Polynomial& p, double factor) { return p * constant_polynomial(factor); }

} // namespace

Polynomial constant_polynomial(double value) {
  return value == 0 ? Polynomial{} : Polynomial{{value, {}}};
}

Polynomial operator+(const Polynomial& a, const Polynomial& b) {
  Polynomial sum = a;
  for (const Monomial& m : b)
    add(sum, m);
  return sum;
}

Polynomial operator-(const Polynomial& a, const Polynomial& b) { return a + scaled(b, -1); }

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  Polynomial product;
  for (const Monomial& x : a)
    for (const Monomial& y : b) {
      Monomial m{x.coefficient * y.coefficient, x.atoms};
      m.atoms.insert(m.atoms.end(), y.atoms.begin(), y.atoms.end());
      add(product, m);
    }
  return product;
}

bool equal(const Polynomial& a, const Polynomial& b) { return (a - b).empty(); }

Polynomial polynomial_of(const Expr& e) {
  if (const auto value = literal_of(e))
    return constant_polynomial(*value);
  if (const auto* c = as<Cast>(e); c != nullptr && is_float(c->arg.type().elem))
    return polynomial_of(c->arg);
  if (const auto* u = as<Unary>(e); u != nullptr && u->op == UnaryOp::Neg)
    return scaled(polynomial_of(u->arg), -1);
  if (const auto* b = as<Binary>(e)) {
    if (b->op == BinaryOp::Add)
      return polynomial_of(b->lhs) + polynomial_of(b->rhs);
    if (b->op == BinaryOp::Sub)
      return polynomial_of(b->lhs) - polynomial_of(b->rhs);
    if (b->op == BinaryOp::Mul) {
      const Polynomial lhs = polynomial_of(b->lhs), rhs = polynomial_of(b->rhs);
      if (lhs.size() * rhs.size() <= kMostMonomials)
        return lhs * rhs;
    }
    const auto divisor = b->op == BinaryOp::Div ? literal_of(b->rhs) : std::nullopt;
    if (divisor && *divisor != 0)
      return scaled(polynomial_of(b->lhs), 1 / *divisor);
  }
  return {{1, {e}}};
}

Linear linear_in(const Polynomial& p, const Expr& atom) {
  Linear parts;
  for (Monomial m : p) {
    const auto is_atom = [&](const Expr& e) { return equal(e, atom); };
    const auto found = std::find_if(m.atoms.begin(), m.atoms.end(), is_atom);
    if (found == m.atoms.end()) {
      parts.rest.push_back(std::move(m));
      continue;
    }
    m.atoms.erase(found);
    parts.is_linear = parts.is_linear && std::none_of(m.atoms.begin(), m.atoms.end(), is_atom);
    parts.slope.push_back(std::move(m));
  }
  return parts;
}

std::optional<double> constant_of(const Polynomial& p) {
  if (p.empty())
    return 0.0;
  return p.size() == 1 && p[0].atoms.empty() ? std::optional(p[0].coefficient) : std::nullopt;
}

Expr expr_of(const Polynomial& p, Type type) {
  Expr sum;
  for (const Monomial& m : p) {
    Expr product;
    if (m.coefficient != 1 || m.atoms.empty())
      product = float_lit(m.coefficient, type);
    for (const Expr& atom : m.atoms)
      product = product ? product * cast(atom, type) : cast(atom, type);
    sum = sum ? sum + product : product;
  }
  return sum ? sum : zero_of(type);
}

} // namespace kawara::scalar
