#include "poly/legality/directions.h"

#include "poly/affine.h"
#include "poly/isl/dimensions.h"
#include "poly/legality/levels.h"

#include <algorithm>

namespace kawara::poly {
namespace {

Range range_of(const Scop& scop, const isl::map& pairs, const Dependence& d, const Step& step) {
  const RowPairs rows(scop, d.source, d.sink);
  if (const auto ends = rows.distance(pairs, step.source, step.sink))
    return {ends->first, ends->second};
  const auto function = [&](const Expr& row, StmtId id) {
    return pw_aff_from_expr(row, isl::set::universe(scop[id].domain.space()), scop.params).as_map();
  };
  const isl::set difference = pairs.apply_domain(function(step.source, d.source))
                                  .apply_range(function(step.sink, d.sink))
                                  .deltas();
  return {dimension_min(difference, 0), dimension_max(difference, 0)};
}

/// Steps of the loops above `depth`, each of them by itself.
std::vector<Step> single_steps(const Scop& scop, const Order& order, const Dependence& d,
                               size_t depth) {
  const size_t count =
      std::min({depth, order.rows[d.source.value].size(), order.rows[d.sink.value].size()});
  const std::vector<bool> is_apart(count, true);
  const SyntacticProver prover(scop);
  return prover.steps(order,
                      d.shown && d.shown->equalities
                          ? *d.shown->equalities
                          : prover.equalities_of(d.relation, d.source, d.sink),
                      count, is_apart);
}

isl::map tied_in(const Scop& scop, const Dependence& d, const std::vector<Step>& steps,
                 size_t depth) {
  const RowPairs rows(scop, d.source, d.sink);
  isl::map tied = d.relation;
  for (const Step& step : steps)
    if (step.first < depth)
      tied = tied.intersect(rows.equal(step.source, step.sink));
  return tied;
}

} // namespace

isl::map tied_above(const Scop& scop, const Order& order, const Dependence& d, size_t depth) {
  return tied_in(scop, d, single_steps(scop, order, d, depth), depth);
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
    const std::vector<Step> steps = single_steps(scop, order, d, shared);
    const isl::map tied = tied_in(scop, d, steps, depth);
    if (tied.is_empty())
      continue;
    Direction direction;
    direction.dependence = index;
    direction.by_loop.assign(shared - depth, Range{0, 0});
    for (const Step& step : steps)
      if (step.first >= depth)
        direction.by_loop[step.first - depth] = range_of(scop, tied, d, step);
    out.push_back(std::move(direction));
  }
  return out;
}

} // namespace kawara::poly
