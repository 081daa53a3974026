#include "poly/directions.h"

#include "poly/isl/compare.h"
#include "poly/isl/dimensions.h"
#include "poly/levels.h"

#include <algorithm>

namespace kawara::poly {
namespace {

Range range_of(const isl::map& pairs, const isl::pw_aff& source, const isl::pw_aff& sink) {
  const isl::set difference =
      pairs.apply_domain(source.as_map()).apply_range(sink.as_map()).deltas();
  return {dimension_min(difference, 0), dimension_max(difference, 0)};
}

/// Loops above `depth`, or more, that both sides of every pair have in common.
std::vector<bool> common_loops(const Scop& scop, const Order& order, const Dependence& d,
                               size_t depth) {
  const size_t count =
      std::min({depth, order.rows[d.source.value].size(), order.rows[d.sink.value].size()});
  const std::vector<Expr> twins =
      d.shown && d.shown->twins ? *d.shown->twins : twins_of(scop, d.relation, d.source, d.sink);
  return loops_in_common(order, twins, d.source, d.sink, count);
}

isl::map tied_in(const isl::map& pairs, RowFunctions& rows, const Dependence& d,
                 const std::vector<bool>& in_common, size_t depth) {
  isl::map tied = pairs;
  for (size_t k = 0; k < depth && k < in_common.size(); ++k)
    if (!in_common[k])
      tied = tied.intersect(equal_map(rows.at(d.source, k), rows.at(d.sink, k)));
  return tied;
}

} // namespace

isl::map tied_above(const Scop& scop, const Order& order, const Dependence& d, size_t depth) {
  RowFunctions rows(scop, order);
  return tied_in(d.relation, rows, d, common_loops(scop, order, d, depth), depth);
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
    const size_t shared = std::max(depth, meet(order, d.source, d.sink).shared_loops);
    const std::vector<bool> in_common = common_loops(scop, order, d, shared);
    RowFunctions rows(scop, order);
    const isl::map tied = tied_in(d.relation, rows, d, in_common, depth);
    if (tied.is_empty())
      continue;
    Direction direction;
    direction.dependence = index;
    for (size_t k = depth; k < shared; ++k)
      direction.by_loop.push_back(
          in_common[k] ? Range{0, 0} : range_of(tied, rows.at(d.source, k), rows.at(d.sink, k)));
    out.push_back(std::move(direction));
  }
  return out;
}

} // namespace kawara::poly
