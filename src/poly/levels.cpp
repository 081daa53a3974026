#include "poly/levels.h"

#include "poly/affine.h"
#include "poly/isl/compare.h"
#include "poly/isl/dimensions.h"

#include <algorithm>

namespace kawara::poly {

RowFunctions::RowFunctions(const Scop& scop, const Order& order)
    : scop_(scop), order_(order), made_(scop.statements.size()) {}

const isl::pw_aff& RowFunctions::at(StmtId id, size_t depth) {
  std::vector<std::optional<isl::pw_aff>>& rows = made_[id.value];
  rows.resize(order_.rows[id.value].size());
  if (!rows[depth])
    rows[depth] = pw_aff_from_expr(order_.rows[id.value][depth],
                                   isl::set::universe(scop_[id].domain.space()), scop_.params);
  return *rows[depth];
}

std::vector<Expr> twins_of(const Scop& scop, const isl::map& pairs, StmtId source, StmtId sink) {
  const auto &from = scop[source].text.iters, &to = scop[sink].text.iters;
  std::vector<Expr> twins(from.size());
  for (uint32_t i = 0; i < from.size(); ++i)
    for (uint32_t j = 0; j < to.size() && !twins[i]; ++j)
      if (from[i] == to[j] && has_equal_dims(pairs, i, j))
        twins[i] = scalar::iter(j);
  return twins;
}

std::vector<bool> loops_in_common(const Order& order, const std::vector<Expr>& twins, StmtId source,
                                  StmtId sink, size_t shared_loops) {
  const auto is_in_common = [&](const Expr& row, const Expr& other) {
    bool has_twins = true;
    scalar::visit(row, [&](const Expr& e) {
      if (const auto* it = scalar::as<scalar::Iter>(e))
        has_twins = has_twins && twins[it->index];
    });
    return has_twins && scalar::equal(scalar::substitute_iters(row, twins), other);
  };
  std::vector<bool> in_common;
  for (size_t k = 0; k < shared_loops; ++k)
    in_common.push_back(is_in_common(order.rows[source.value][k], order.rows[sink.value][k]));
  return in_common;
}

Levels::Levels(const isl::map& pairs, RowFunctions& rows, StmtId source, StmtId sink,
               std::vector<bool> in_common)
    : rows_(rows), source_(source), sink_(sink), in_common_(std::move(in_common)),
      none_(isl::map::empty(pairs.space())) {
  tied_.push_back(pairs.is_empty() ? none_ : pairs);
  is_over_ = tied_.back().is_empty();
}

const isl::map& Levels::tied(size_t depth) {
  while (tied_.size() <= depth && !is_over_) {
    const size_t k = tied_.size() - 1;
    if (is_in_common(k)) {
      tied_.push_back(tied_.back());
      continue;
    }
    tied_.push_back(tied_.back().intersect(equal_map(source(k), sink(k))));
    is_over_ = tied_.back().is_empty();
  }
  return depth < tied_.size() ? tied_[depth] : none_;
}

const isl::map& Levels::late(size_t depth) {
  while (late_.size() <= depth) {
    const size_t k = late_.size();
    const isl::map& agreed = tied(k);
    late_.push_back(is_none(k) ? none_ : agreed.intersect(greater_map(source(k), sink(k))));
  }
  return late_[depth];
}

isl::map Levels::early(size_t depth) {
  const isl::map& agreed = tied(depth);
  return is_none(depth) ? none_ : agreed.intersect(less_map(source(depth), sink(depth)));
}

isl::map Levels::early_within(size_t depth, int64_t width) {
  const isl::map near = early(depth);
  if (is_none(depth))
    return near;
  const isl::pw_aff end = source(depth).add_constant(static_cast<long>(width));
  return near.intersect(greater_map(end, sink(depth)));
}

/// No pair is ahead or behind at `depth`: all have gone their ways above it, or none does so here.
bool Levels::is_none(size_t depth) const {
  return is_in_common(depth) || (is_over_ && depth + 1 >= tied_.size());
}

bool agree_above(const Scop& scop, const Order& order, const isl::map& pairs, StmtId source,
                 StmtId sink, size_t depth) {
  const std::vector<bool> in_common =
      loops_in_common(order, twins_of(scop, pairs, source, sink), source, sink, depth);
  RowFunctions rows(scop, order);
  for (size_t k = 0; k < depth; ++k)
    if (!in_common[k] && (!pairs.is_disjoint(less_map(rows.at(source, k), rows.at(sink, k))) ||
                          !pairs.is_disjoint(greater_map(rows.at(source, k), rows.at(sink, k)))))
      return false;
  return true;
}

isl::map pairs_in_order(const Scop& scop, const Order& order, const isl::map& pairs, StmtId source,
                        StmtId sink) {
  const Meeting meeting = meet(order, source, sink);
  if (meeting.shared_loops == 0)
    return meeting.order < 0 ? pairs : isl::map::empty(pairs.space());
  const std::vector<bool> in_common = loops_in_common(order, twins_of(scop, pairs, source, sink),
                                                      source, sink, meeting.shared_loops);
  RowFunctions rows(scop, order);
  isl::map early = isl::map::empty(pairs.space()), tied = pairs;
  for (size_t k = 0; k < meeting.shared_loops; ++k) {
    if (in_common[k])
      continue;
    early = early.unite(tied.intersect(less_map(rows.at(source, k), rows.at(sink, k))));
    tied = tied.intersect(equal_map(rows.at(source, k), rows.at(sink, k)));
  }
  return meeting.order < 0 ? early.unite(tied) : early;
}

} // namespace kawara::poly
