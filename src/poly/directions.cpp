#include "poly/directions.h"

#include "poly/affine.h"
#include "poly/isl/compare.h"
#include "poly/isl/dimensions.h"

#include <algorithm>

namespace kawara::poly {
namespace {

Range range_of(const isl::map& pairs, const isl::pw_aff& source, const isl::pw_aff& sink) {
  const isl::set difference =
      pairs.apply_domain(source.as_map()).apply_range(sink.as_map()).deltas();
  return {dimension_min(difference, 0), dimension_max(difference, 0)};
}

/// Rows on the whole space of a statement: pairs have the domains.
std::vector<isl::pw_aff> rows_everywhere(const Scop& scop, const Order& order, StmtId id) {
  const isl::set everywhere = isl::set::universe(scop[id].domain.space());
  std::vector<isl::pw_aff> rows;
  for (const Expr& row : order.rows[id.value])
    rows.push_back(pw_aff_from_expr(row, everywhere, scop.params));
  return rows;
}

} // namespace

isl::map tied_above(const Scop& scop, const Order& order, const Dependence& d, size_t depth) {
  const auto source = rows_everywhere(scop, order, d.source);
  const auto sink = rows_everywhere(scop, order, d.sink);
  isl::map tied = d.relation;
  for (size_t k = 0; k < depth && k < source.size() && k < sink.size(); ++k)
    tied = tied.intersect(equal_map(source[k], sink[k]));
  return tied;
}

std::vector<Direction> directions(const Scop& scop, const Order& order,
                                  const std::vector<StmtId>& statements, size_t depth) {
  const auto is_among = [&](StmtId id) {
    return std::find(statements.begin(), statements.end(), id) != statements.end();
  };
  std::vector<Direction> out;
  for (size_t index = 0; index < scop.dependences.size(); ++index) {
    const Dependence& d = scop.dependences[index];
    if (!is_among(d.source) || !is_among(d.sink))
      continue;
    const isl::map tied = tied_above(scop, order, d, depth);
    if (tied.is_empty())
      continue;
    Direction direction;
    direction.dependence = index;
    const auto source = rows_everywhere(scop, order, d.source);
    const auto sink = rows_everywhere(scop, order, d.sink);
    const size_t shared = meet(order, d.source, d.sink).shared_loops;
    for (size_t k = depth; k < shared; ++k)
      direction.by_loop.push_back(range_of(tied, source[k], sink[k]));
    out.push_back(std::move(direction));
  }
  return out;
}

} // namespace kawara::poly
