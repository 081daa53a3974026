#include "poly/row_pairs.h"

#include "poly/affine.h"
#include "poly/isl/compare.h"
#include "poly/isl/dimensions.h"

namespace kawara::poly {
namespace {

Expr shifted(const Expr& row, size_t iterators, size_t by) {
  std::vector<Expr> iters;
  for (size_t k = 0; k < iterators; ++k)
    iters.push_back(scalar::iter(static_cast<uint32_t>(k + by)));
  return scalar::substitute_iters(row, iters);
}

} // namespace

RowPairs::RowPairs(const Scop& scop, StmtId source, StmtId sink)
    : scop_(scop), source_(source), sink_(sink),
      space_(pairs_of(isl::set::universe(scop[source].domain.space()),
                      isl::set::universe(scop[sink].domain.space()))
                 .space()) {}

std::optional<std::pair<isl::aff, isl::aff>> RowPairs::functions(const Expr& source,
                                                                 const Expr& sink) const {
  const size_t before = scop_[source_].text.iters.size(), own = scop_[sink_].text.iters.size();
  const isl::space points = points_of_pairs(space_);
  const auto a = plain_function(source, points, scop_.params);
  const auto b = a ? plain_function(shifted(sink, own, before), points, scop_.params) : a;
  return b ? std::optional(std::pair(*a, *b)) : std::nullopt;
}

std::optional<RowPairs::Distance> RowPairs::distance(const isl::map& pairs, const Expr& source,
                                                     const Expr& sink) const {
  const auto both = functions(source, sink);
  if (!both)
    return std::nullopt;
  const isl::aff apart = both->second.sub(both->first);
  const isl::set points = pairs.wrap();
  return Distance(least_of(apart, points), greatest_of(apart, points));
}

isl::map RowPairs::compared(Comparison comparison, const Expr& source, const Expr& sink) const {
  const auto both = functions(source, sink);
  const auto answer = [&](const auto& one, const auto& other) {
    return comparison == Comparison::Less      ? less_map(one, other)
           : comparison == Comparison::Greater ? greater_map(one, other)
                                               : equal_map(one, other);
  };
  if (both)
    return answer(both->first, both->second);
  const auto function = [&](const Expr& row, StmtId id) {
    return pw_aff_from_expr(row, isl::set::universe(scop_[id].domain.space()), scop_.params);
  };
  return answer(function(source, source_), function(sink, sink_));
}

isl::map RowPairs::less(const Expr& source, const Expr& sink) const {
  return compared(Comparison::Less, source, sink);
}
isl::map RowPairs::greater(const Expr& source, const Expr& sink) const {
  return compared(Comparison::Greater, source, sink);
}
isl::map RowPairs::equal(const Expr& source, const Expr& sink) const {
  return compared(Comparison::Equal, source, sink);
}

} // namespace kawara::poly
