#include "schedule/tree/solve_iterators.h"

#include "scalar/affine_sum.h"

#include <algorithm>

namespace kawara::schedule {

using scalar::Expr;

std::vector<Expr> iterators_from_keys(const std::vector<Expr>& keys, size_t iterators) {
  std::vector<Expr> solved(iterators);
  for (uint32_t k = 0; k < keys.size(); ++k) {
    scalar::AffineSum rest = scalar::affine_sum(keys[k]);
    const auto moves = [](const std::pair<Expr, int64_t>& term) {
      bool found = false;
      scalar::visit(term.first, [&](const Expr& e) {
        found = found || scalar::as<scalar::Iter>(e) != nullptr;
      });
      return found;
    };
    const auto only = std::find_if(rest.terms.begin(), rest.terms.end(), moves);
    if (only == rest.terms.end() || std::any_of(only + 1, rest.terms.end(), moves) ||
        (only->second != 1 && only->second != -1))
      continue;
    const auto* it = scalar::as<scalar::Iter>(only->first);
    if (!it || solved[it->index])
      continue;
    const uint32_t iterator = it->index;
    const bool is_forward = only->second > 0;
    rest.terms.erase(only);
    const Expr apart = scalar::iter(k) - scalar::expr_of(rest);
    solved[iterator] = scalar::simplify(is_forward ? apart : scalar::int_lit(0) - apart);
  }
  return solved;
}

} // namespace kawara::schedule
