#include "poly/syntactic/against_sets.h"

#include "poly/accesses.h"
#include "poly/affine.h"
#include "poly/isl/dimensions.h"
#include "poly/isl/text.h"
#include "poly/row_pairs.h"

namespace kawara::poly {
namespace {

isl::set domain_of(const Scop& scop, StmtId id) {
  return scop[id].domain.intersect_params(scop.context);
}

/// Pairs by the lexicographic order of some rows.
struct Ordered {
  isl::map early, late, tied;
};

/// Of the pairs, where the rows are those of `source` and `sink`, outermost first.
Ordered ordered(const RowPairs& rows, const isl::map& pairs, const std::vector<Expr>& source,
                const std::vector<Expr>& sink) {
  const isl::map none = pairs.subtract(pairs);
  Ordered all{none, none, pairs};
  for (size_t k = 0; k < source.size(); ++k) {
    all.early = all.early.unite(all.tied.intersect(rows.less(source[k], sink[k])));
    all.late = all.late.unite(all.tied.intersect(rows.greater(source[k], sink[k])));
    all.tied = all.tied.intersect(rows.equal(source[k], sink[k]));
  }
  return all;
}

std::vector<Expr> part(const std::vector<Expr>& rows, size_t first, size_t end) {
  return {rows.begin() + static_cast<std::ptrdiff_t>(first),
          rows.begin() + static_cast<std::ptrdiff_t>(end)};
}

/// Pairs whose order the step gives another way than its loops do.
isl::map misordered(const Scop& scop, const Order& order, const isl::map& pairs, StmtId source,
                    StmtId sink, const Step& step) {
  const RowPairs rows(scop, source, sink);
  const Ordered loops =
      ordered(rows, pairs, part(order.rows[source.value], step.first, step.last + 1),
              part(order.rows[sink.value], step.first, step.last + 1));
  const isl::map less = rows.less(step.source, step.sink),
                 greater = rows.greater(step.source, step.sink),
                 equal = rows.equal(step.source, step.sink);
  return loops.early.intersect(greater.unite(equal))
      .unite(loops.late.intersect(less.unite(equal)))
      .unite(loops.tied.intersect(less.unite(greater)));
}

/// The iterations in which the first function is less than, or greater than, the second.
isl::set unequal(const Scop& scop, const isl::set& domain, const Expr& a, const Expr& b) {
  const isl::pw_aff one = pw_aff_from_expr(a, domain, scop.params),
                    other = pw_aff_from_expr(b, domain, scop.params);
  return one.lt_set(other).unite(other.lt_set(one));
}

/// Iterations o of `outer` without one in which the inner row is `value`.
isl::set without_value(const Scop& scop, const isl::set& domain, const std::vector<Expr>& outer,
                       const Expr& row, const Expr& value) {
  const isl::set has_value = domain.subtract(unequal(scop, domain, row, value));
  return domain.apply(map_of(outer, domain, scop.params))
      .subtract(has_value.apply(map_of(outer, has_value, scop.params)));
}

/// Two iterations with the same rows and another value.
isl::map contradictions(const Scop& scop, StmtId id, const std::vector<Expr>& rows,
                        const std::vector<Expr>& values) {
  const isl::set domain = domain_of(scop, id);
  const RowPairs compared(scop, id, id);
  const isl::map same = ordered(compared, pairs_of(domain, domain), rows, rows).tied;
  isl::map found = same.subtract(same);
  for (const Expr& value : values)
    found = found.unite(same.intersect(compared.less(value, value)));
  return found;
}

} // namespace

Counterexample point_of(const isl::set& set) {
  if (set.is_empty())
    return std::nullopt;
  return text_of(isl::set(set.sample_point()));
}

Counterexample point_of(const isl::map& map) {
  if (map.is_empty())
    return std::nullopt;
  return text_of(isl::set(map.wrap().sample_point()).unwrap());
}

isl::map pairs_of_accesses(const Scop& scop, const Access& source, const Access& sink) {
  return relation_of(scop, source).apply_range(relation_of(scop, sink).reverse());
}

isl::map pairs_in_plain_order(const Scop& scop, const Order& order, const isl::map& pairs,
                              StmtId source, StmtId sink) {
  const Meeting meeting = meet(order, source, sink);
  const Ordered all = ordered(RowPairs(scop, source, sink), pairs,
                              part(order.rows[source.value], 0, meeting.shared_loops),
                              part(order.rows[sink.value], 0, meeting.shared_loops));
  return meeting.order < 0 ? all.early.unite(all.tied) : all.early;
}

Counterexample against_disjoint(const Scop& scop, const Access& a, const Access& b) {
  return point_of(relation_of(scop, a)
                      .range()
                      .intersect(relation_of(scop, b).range())
                      .intersect_params(scop.context));
}

Counterexample against_conflict(const Scop& scop, const Order& order, const Access& a,
                                const Access& b) {
  const isl::map pairs =
      pairs_in_plain_order(scop, order, pairs_of_accesses(scop, a, b), a.statement, b.statement);
  return pairs.is_empty() ? Counterexample("there is no such pair") : std::nullopt;
}

Counterexample against_equal(const Scop& scop, const isl::map& pairs, StmtId source, StmtId sink,
                             const Expr& of_source, const Expr& of_sink) {
  const RowPairs rows(scop, source, sink);
  return point_of(
      pairs.intersect_params(scop.context)
          .intersect(rows.less(of_source, of_sink).unite(rows.greater(of_source, of_sink))));
}

Counterexample against_steps(const Scop& scop, const Order& order, const isl::map& pairs,
                             StmtId source, StmtId sink, size_t loops,
                             const std::vector<Step>& steps) {
  const isl::map asked = pairs.intersect_params(scop.context);
  size_t next = 0; // the first loop that no step has had
  for (size_t k = 0; k <= steps.size(); ++k) {
    for (const size_t first = k < steps.size() ? steps[k].first : loops; next < first; ++next)
      if (auto point = against_equal(scop, asked, source, sink, order.rows[source.value][next],
                                     order.rows[sink.value][next]))
        return point;
    if (k == steps.size())
      break;
    next = steps[k].last + 1;
    if (auto point = point_of(misordered(scop, order, asked, source, sink, steps[k])))
      return point;
  }
  return std::nullopt;
}

Counterexample against_equal(const Scop& scop, StmtId id, const Expr& a, const Expr& b,
                             Answer answer) {
  const isl::set differ = unequal(scop, domain_of(scop, id), a, b);
  if (answer == Answer::Yes)
    return point_of(differ);
  return differ.is_empty() ? Counterexample("they are equal everywhere") : std::nullopt;
}

Counterexample against_given(const Scop& scop, StmtId id, const std::vector<Expr>& rows,
                             const std::vector<Expr>& values, Answer answer) {
  const isl::map found = contradictions(scop, id, rows, values);
  if (answer == Answer::Yes)
    return point_of(found);
  return found.is_empty() ? Counterexample("no two iterations have the same rows and other values")
                          : std::nullopt;
}

Counterexample against_solved(const Scop& scop, StmtId id, const std::vector<Expr>& rows,
                              const std::vector<Expr>& iterators, const std::vector<Expr>& solved) {
  for (size_t k = 0; k < iterators.size(); ++k)
    if (auto point = against_equal(scop, id, iterators[k],
                                   scalar::substitute_iters(solved[k], rows), Answer::Yes))
      return point;
  return std::nullopt;
}

Counterexample against_boxes(const Scop& scop, StmtId id, const std::vector<Expr>& outer,
                             const std::vector<Expr>& inner, const Boxes& boxes) {
  const isl::set domain = domain_of(scop, id);
  for (size_t d = 0; d < inner.size(); ++d) {
    const Expr first = scalar::substitute_iters(boxes.first[d], outer);
    const Expr last = first + boxes.extent[d] - scalar::int_lit(1);
    const auto value = [&](const Expr& e) { return pw_aff_from_expr(e, domain, scop.params); };
    if (auto point = point_of(
            value(inner[d]).lt_set(value(first)).unite(value(last).lt_set(value(inner[d])))))
      return *point + " is outside";
    if (auto point = point_of(without_value(scop, domain, outer, inner[d], first)))
      return "no first element in " + *point;
    if (unequal(scop, domain, inner[d], last).is_equal(domain))
      return "all boxes are smaller";
  }
  return std::nullopt;
}

Counterexample against_range(const Scop& scop, const Order& order, LoopId loop,
                             const ConstantRange& range) {
  const size_t depth = *depth_of(order, loop);
  for (const StmtId id : statements_below(order, loop)) {
    const isl::set domain = domain_of(scop, id);
    const std::vector<Expr>& rows = order.rows[id.value];
    const std::vector<Expr> outer = part(rows, 0, depth);
    const isl::set around = domain.apply(map_of(outer, domain, scop.params));
    const isl::set values = statement_universe(domain.ctx(), scop.params, "", 1);
    const isl::pw_aff at = dimension_function(values, 0);
    const auto number = [&](int64_t n) {
      return pw_aff_from_expr(scalar::int_lit(n), values, scop.params);
    };
    const isl::set inside = at.ge_set(number(range.low)).intersect(at.le_set(number(range.high)));
    const isl::map taken = map_of(outer, domain, scop.params)
                               .reverse()
                               .apply_range(map_of({rows[depth]}, domain, scop.params));
    const isl::map all = pairs_of(around, inside);
    if (auto point = point_of(taken.subtract(all)))
      return *point + " is outside";
    if (auto point = point_of(all.subtract(taken)))
      return *point + " is left out";
  }
  return std::nullopt;
}

Counterexample against_rectangle(const Scop& scop, const Order& order, LoopId outer, LoopId inner,
                                 Answer answer) {
  const isl::set values = loop_values(scop, order, inner);
  const bool is_one = is_rectangle(values, *depth_of(order, outer), *depth_of(order, inner));
  if (is_one == (answer == Answer::Yes))
    return std::nullopt;
  return (is_one ? "a rectangle: " : "no rectangle: ") + text_of(values);
}

Counterexample against_run(const Scop& scop, const Order& order, LoopId loop, int64_t run) {
  const auto longest = longest_run(loop_values(scop, order, loop), *depth_of(order, loop));
  if (longest == run)
    return std::nullopt;
  return longest ? "the longest has " + std::to_string(*longest) : "it depends on sizes";
}

} // namespace kawara::poly
