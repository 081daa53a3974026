#include "schedule/reductions/online_bound.h"

#include "poly/affine.h"
#include "schedule/tree/rewrite.h"

#include <algorithm>

namespace kawara::schedule {

using poly::Scop;
using poly::StmtId;
using scalar::Expr;
using scalar::Polynomial;

namespace {

/// Iterators of the one statement as expressions over those of the other, from indices that must
/// agree.
class Unifier {
public:
  explicit Unifier(size_t iterators) : bound_(iterators) {}

  void match(const std::vector<Expr>& pattern, const std::vector<Expr>& index) {
    for (size_t p = 0; p < pattern.size() && p < index.size(); ++p)
      if (const auto* it = scalar::as<scalar::Iter>(pattern[p]))
        if (!bound_[it->index])
          bound_[it->index] = index[p];
  }
  bool is_complete() const {
    return std::all_of(bound_.begin(), bound_.end(), [](const Expr& e) { return bool(e); });
  }
  const std::vector<Expr>& bound() const { return bound_; }

private:
  std::vector<Expr> bound_;
};

std::vector<Expr> loads_in(const Polynomial& p) {
  std::vector<Expr> loads;
  for (const scalar::Monomial& m : p)
    for (const Expr& atom : m.atoms)
      scalar::visit(atom, [&](const Expr& e) {
        if (scalar::as<scalar::Load>(e))
          loads.push_back(e);
      });
  return loads;
}

Polynomial simplified(Polynomial p) {
  for (scalar::Monomial& m : p)
    for (Expr& atom : m.atoms)
      atom = scalar::simplify(atom);
  return Polynomial{} + p;
}

/// The iteration of `extreme` that takes in what the exponent is made of, over the iterators of the
/// statement; empty when there is none that can be named.
std::vector<Expr> counterpart(const Scop& scop, const Exponent& exponent, StmtId extreme) {
  const program::Statement& text = scop[extreme].text;
  Unifier unifier(text.iters.size());
  unifier.match(text.index, exponent.element);
  const std::vector<Expr> loads = loads_in(exponent.rest);
  for (const Expr& own : loads_in(scalar::polynomial_of(text.value))) {
    const auto* pattern = scalar::as<scalar::Load>(own);
    const auto found = std::find_if(loads.begin(), loads.end(), [&](const Expr& e) {
      return scalar::as<scalar::Load>(e)->tensor == pattern->tensor;
    });
    if (found != loads.end())
      unifier.match(pattern->index, scalar::as<scalar::Load>(*found)->index);
  }
  return unifier.is_complete() ? unifier.bound() : std::vector<Expr>();
}

bool agree(const isl::set& domain, const std::vector<program::Param>& params, const Expr& a,
           const Expr& b) {
  return domain.is_subset(
      poly::pw_aff_from_expr(a, domain, params).eq_set(poly::pw_aff_from_expr(b, domain, params)));
}

} // namespace

std::optional<std::string> unbounded_exponent(const Scop& scop, const poly::Order& order,
                                              size_t depth, StmtId id, const Exponent& exponent,
                                              StmtId extreme) {
  const program::Statement& maximum = scop[extreme].text;
  const std::string what = "what it takes the exponential of is not known to be bounded by the "
                           "running result of " +
                           maximum.name;
  const std::vector<Expr> at = counterpart(scop, exponent, extreme);
  if (at.empty() && !maximum.iters.empty())
    return what + ".";
  const Polynomial seen =
      scalar::polynomial_of(scalar::simplify(scalar::substitute_iters(maximum.value, at)));
  if (!equal(simplified(exponent.rate * seen), simplified(exponent.rest)))
    return what + ": " + maximum.name + " takes in `" +
           to_string(maximum.value, poly::names_of(scop, extreme)) + "`, which is something else.";
  const isl::set& domain = scop[id].domain;
  const isl::set image = map_of(at, domain, scop.params).range();
  if (!image.is_subset(renamed(scop[extreme].domain, "")))
    return what + ": " + maximum.name + " does not take in all of it.";
  for (size_t p = 0; p < maximum.index.size(); ++p)
    if (!agree(domain, scop.params, scalar::substitute_iters(maximum.index[p], at),
               exponent.element[p]))
      return what + ": " + maximum.name + " takes it into another element.";
  for (size_t k = 0; k < depth; ++k)
    if (!agree(domain, scop.params, scalar::substitute_iters(order.rows[extreme.value][k], at),
               order.rows[id.value][k]))
      return what + ": " + maximum.name + " takes it in another iteration of loop `" +
             order[poly::path_of(order, id)[k]].name + "`.";
  return std::nullopt;
}

} // namespace kawara::schedule
