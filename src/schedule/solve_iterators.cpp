#include "schedule/solve_iterators.h"

#include "scalar/affine_sum.h"

namespace kawara::schedule {

using scalar::Expr;

std::vector<Expr> iterators_from_keys(const std::vector<Expr>& keys, size_t iterators) {
  std::vector<Expr> solved(iterators);
  for (uint32_t k = 0; k < keys.size(); ++k) {
    const scalar::AffineSum sum = scalar::affine_sum(keys[k]);
    if (sum.terms.size() != 1 || (sum.terms[0].second != 1 && sum.terms[0].second != -1))
      continue;
    const auto* it = scalar::as<scalar::Iter>(sum.terms[0].first);
    if (!it || solved[it->index])
      continue;
    const Expr rest = scalar::iter(k) - scalar::int_lit(sum.constant);
    solved[it->index] =
        scalar::simplify(sum.terms[0].second > 0 ? rest : scalar::int_lit(0) - rest);
  }
  return solved;
}

Expr in_solved(const Expr& e, const std::vector<Expr>& solved) {
  bool is_known = true;
  scalar::visit(e, [&](const Expr& node) {
    const auto* it = scalar::as<scalar::Iter>(node);
    is_known = is_known && (!it || solved[it->index]);
  });
  return is_known ? scalar::simplify(scalar::substitute_iters(e, solved)) : Expr{};
}

} // namespace kawara::schedule
