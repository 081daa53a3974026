#include "poly/syntactic/elements.h"

#include "poly/syntactic/domain_facts.h"
#include "scalar/eval.h"
#include "scalar/iterators.h"

#include <algorithm>

namespace kawara::poly {
namespace {

/// Whether iteration x of the one comes before y of the other; false where that depends on
/// parameters.
bool is_before(const Order& order, StmtId source, const std::vector<int64_t>& x, StmtId sink,
               const std::vector<int64_t>& y) {
  const Meeting meeting = meet(order, source, sink);
  for (size_t k = 0; k < meeting.shared_loops; ++k) {
    const auto here = scalar::evaluate_index(order.rows[source.value][k], x, {});
    const auto there = scalar::evaluate_index(order.rows[sink.value][k], y, {});
    if (!here || !there)
      return false;
    if (*here != *there)
      return *here < *there;
  }
  return meeting.order < 0;
}

bool is_same_element(const Access& a, const std::vector<int64_t>& x, const Access& b,
                     const std::vector<int64_t>& y) {
  return std::equal(a.index.begin(), a.index.end(), b.index.begin(), b.index.end(),
                    [&](const Expr& one, const Expr& other) {
                      const auto here = scalar::evaluate_index(one, x, {});
                      return here && here == scalar::evaluate_index(other, y, {});
                    });
}

} // namespace

bool are_apart(const Access& a, const Access& b) {
  for (size_t d = 0; d < a.index.size() && d < b.index.size(); ++d) {
    const auto here = scalar::constant_of(a.index[d]), there = scalar::constant_of(b.index[d]);
    if (here && there && *here != *there)
      return true;
  }
  return false;
}

bool meet_at_corners(const Scop& scop, const Order& order, const Access& a, const Access& b) {
  const ScopStatement &source = scop[a.statement], &sink = scop[b.statement];
  const auto first =
      domain_facts_of(source)->corner(std::vector<bool>(source.text.iters.size(), false));
  std::vector<bool> is_free(sink.text.iters.size(), true);
  for (const Expr& e : b.index)
    scalar::visit(e, [&](const Expr& n) {
      if (const auto it = scalar::iterator_of(n); it && *it < is_free.size())
        is_free[*it] = false;
    });
  for (const std::vector<bool>& is_last : {is_free, std::vector<bool>(is_free.size(), false)}) {
    const auto other = domain_facts_of(sink)->corner(is_last);
    if (first && other && is_same_element(a, *first, b, *other) &&
        is_before(order, a.statement, *first, b.statement, *other))
      return true;
  }
  return false;
}

} // namespace kawara::poly
