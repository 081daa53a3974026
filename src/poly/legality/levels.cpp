#include "poly/legality/levels.h"

namespace kawara::poly {
Levels::Levels(const Scop& scop, const isl::map& pairs, StmtId source, StmtId sink,
               std::vector<Step> steps)
    : rows_(scop, source, sink), steps_(std::move(steps)), none_(isl::map::empty(pairs.space())) {
  tied_.push_back(pairs.is_empty() ? none_ : pairs);
  is_over_ = tied_.back().is_empty();
}

const isl::map& Levels::tied(size_t steps) {
  while (tied_.size() <= steps && !is_over_) {
    const Step& step = steps_[tied_.size() - 1];
    tied_.push_back(tied_.back().intersect(rows_.equal(step.source, step.sink)));
    is_over_ = tied_.back().is_empty();
  }
  return steps < tied_.size() ? tied_[steps] : none_;
}

const isl::map& Levels::late(size_t step) {
  while (late_.size() <= step) {
    const size_t k = late_.size();
    const isl::map& agreed = tied(k);
    late_.push_back(is_none(k) ? none_
                               : agreed.intersect(rows_.greater(steps_[k].source, steps_[k].sink)));
  }
  return late_[step];
}

isl::map Levels::early(size_t step) {
  const isl::map& agreed = tied(step);
  return is_none(step) ? none_
                       : agreed.intersect(rows_.less(steps_[step].source, steps_[step].sink));
}

isl::map Levels::early_within(size_t step, int64_t width) {
  const isl::map near = early(step);
  if (is_none(step))
    return near;
  return near.intersect(
      rows_.greater(steps_[step].source + scalar::int_lit(width), steps_[step].sink));
}

std::optional<size_t> Levels::step_at(size_t depth) const {
  for (size_t k = 0; k < steps_.size(); ++k)
    if (steps_[k].first == depth && steps_[k].last == depth)
      return k;
  return std::nullopt;
}

bool agree_above(const Scop& scop, const Order& order, const isl::map& pairs, StmtId source,
                 StmtId sink, size_t depth) {
  const RowPairs rows(scop, source, sink);
  const SyntacticProver prover(scop);
  for (const Step& step : prover.steps(order, prover.equalities_of(pairs, source, sink), depth))
    if (!pairs.is_disjoint(rows.less(step.source, step.sink)) ||
        !pairs.is_disjoint(rows.greater(step.source, step.sink)))
      return false;
  return true;
}

isl::map pairs_in_order(const Scop& scop, const isl::map& pairs, StmtId source, StmtId sink,
                        const std::vector<Step>& steps, int order) {
  const RowPairs rows(scop, source, sink);
  std::optional<isl::map> early;
  isl::map tied = pairs;
  const auto add = [&](const isl::map& more) { early = early ? early->unite(more) : more; };
  for (size_t k = 0; k < steps.size(); ++k) {
    add(tied.intersect(rows.less(steps[k].source, steps[k].sink)));
    if (k + 1 < steps.size() || order < 0)
      tied = tied.intersect(rows.equal(steps[k].source, steps[k].sink));
  }
  if (order < 0)
    add(tied);
  return early ? *early : isl::map::empty(pairs.space());
}

} // namespace kawara::poly
