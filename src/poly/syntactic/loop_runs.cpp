#include "poly/syntactic/loop_runs.h"

#include "poly/syntactic/domain_facts.h"
#include "poly/syntactic/plain_boxes.h"
#include "scalar/eval.h"
#include "scalar/iterators.h"

#include <algorithm>
#include <map>
#include <set>

namespace kawara::poly {
namespace {

/// The rows down to a depth, in iterators that have no definition.
std::vector<Expr> canonical_rows(const std::vector<Expr>& rows, size_t depth,
                                 const DomainFacts& domain) {
  const std::vector<Expr>& definitions = domain.definitions();
  std::vector<Expr> own;
  for (size_t k = 0; k <= depth; ++k)
    own.push_back(canonical(rows[k], definitions));
  return own;
}

constexpr int64_t kMostCounted = 4096;

/// The first and the last value of a loop by those of the loops around it which run over the same
/// iterator, each with its depth.
struct CountedRuns {
  std::vector<size_t> depths;
  std::map<std::vector<int64_t>, ConstantRange> ranges;
};

/// The iterators of a row with those that constraints tie them to; nothing where some row up to a
/// depth is about them and others.
std::optional<IteratorGroup> iterator_group_at(const std::vector<Expr>& rows, size_t depth,
                                               const DomainFacts& domain) {
  std::optional<uint32_t> first;
  scalar::visit(rows[depth], [&](const Expr& e) {
    if (const auto* it = scalar::as<scalar::Iter>(e))
      first = it->index;
  });
  auto iterator_group = first ? iterator_group_of(domain, *first, kMostCounted) : std::nullopt;
  for (size_t k = 0; iterator_group && k <= depth; ++k) {
    bool is_inside = false, is_outside = false;
    scalar::visit(rows[k], [&](const Expr& e) {
      if (const auto* it = scalar::as<scalar::Iter>(e))
        (iterator_group->has[it->index] ? is_inside : is_outside) = true;
    });
    if (is_inside && is_outside)
      return std::nullopt;
  }
  return iterator_group;
}

bool is_about(const Expr& row, const IteratorGroup& iterator_group) {
  bool found = false;
  scalar::visit(row, [&](const Expr& e) {
    const auto* it = scalar::as<scalar::Iter>(e);
    found = found || (it && iterator_group.has[it->index]);
  });
  return found;
}

std::vector<int64_t> values_at(const std::vector<Expr>& rows, const std::vector<size_t>& depths,
                               const std::vector<int64_t>& point) {
  std::vector<int64_t> values;
  for (const size_t k : depths)
    values.push_back(scalar::evaluate_index(rows[k], point, {}).value());
  return values;
}

/// The same of rows over several iterators that depend on one another and on no other: all their
/// values are gone through.
std::optional<CountedRuns> runs_in_group(const std::vector<Expr>& rows, size_t depth,
                                         const DomainFacts& domain) {
  const auto iterator_group = iterator_group_at(rows, depth, domain);
  if (!iterator_group)
    return std::nullopt;
  CountedRuns runs;
  for (size_t k = 0; k < depth; ++k)
    if (is_about(rows[k], *iterator_group))
      runs.depths.push_back(k);
  for (const std::vector<int64_t>& point : iterator_group->points) {
    const int64_t value = scalar::evaluate_index(rows[depth], point, {}).value();
    const auto [run, is_new] =
        runs.ranges.try_emplace(values_at(rows, runs.depths, point), ConstantRange{value, value});
    run->second = {std::min(run->second.low, value), std::max(run->second.high, value)};
  }
  return runs;
}

/// For rows that divide one iterator of fixed size into blocks (`i // 8`, `i % 8`): all its values
/// are gone through.
std::optional<CountedRuns> counted_runs(const Scop& scop, const std::vector<Expr>& all_rows,
                                        size_t depth, const DomainFacts& domain) {
  const std::vector<Expr> rows = canonical_rows(all_rows, depth, domain);
  if (!scop.params.empty())
    return std::nullopt;
  const auto iter = scalar::only_iterator(rows[depth]);
  const auto own = iter ? domain.free_range(*iter) : std::nullopt;
  if (!own || own->second - own->first >= kMostCounted)
    return runs_in_group(rows, depth, domain);
  CountedRuns runs;
  for (size_t k = 0; k < depth; ++k) {
    if (!scalar::mentions_iterator(rows[k], *iter))
      continue;
    if (scalar::only_iterator(rows[k]) != iter)
      return runs_in_group(rows, depth, domain);
    runs.depths.push_back(k);
  }
  std::vector<int64_t> at(domain.definitions().size(), 0), around;
  auto run = runs.ranges.end(); // neighbours are mostly in the same one
  for (int64_t x = own->first; x <= own->second; ++x) {
    at[*iter] = x;
    around.clear();
    for (const size_t k : runs.depths)
      around.push_back(scalar::evaluate_index(rows[k], at, {}).value());
    const int64_t value = scalar::evaluate_index(rows[depth], at, {}).value();
    if (run == runs.ranges.end() || run->first != around)
      run = runs.ranges.try_emplace(around, ConstantRange{value, value}).first;
    run->second = {std::min(run->second.low, value), std::max(run->second.high, value)};
  }
  return runs;
}

bool has_equal_ranges(const CountedRuns& a, const CountedRuns& b) {
  return std::equal(a.ranges.begin(), a.ranges.end(), b.ranges.begin(), b.ranges.end(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first && x.second.low == y.second.low &&
                             x.second.high == y.second.high;
                    });
}

std::optional<int64_t> longest_counted_run(const Scop& scop, const Order& order, LoopId loop) {
  const size_t depth = *depth_of(order, loop);
  std::optional<CountedRuns> all;
  for (const StmtId statement : statements_below(order, loop)) {
    auto runs =
        counted_runs(scop, order.rows[statement.value], depth, *domain_facts_of(scop[statement]));
    if (!runs || (all && (all->depths != runs->depths || !has_equal_ranges(*all, *runs))))
      return std::nullopt;
    all = std::move(runs);
  }
  int64_t most = 0;
  if (all)
    for (const auto& [around, range] : all->ranges)
      most = std::max(most, range.high - range.low + 1);
  return all ? std::optional(most) : std::nullopt;
}

/// Where every box of the loop's values starts at 0, the largest of them.
std::optional<int64_t> longest_box(const Scop& scop, const Order& order, LoopId loop) {
  const auto depth = static_cast<std::ptrdiff_t>(*depth_of(order, loop));
  int64_t most = 0;
  for (const StmtId statement : statements_below(order, loop)) {
    const std::vector<Expr>& rows = order.rows[statement.value];
    const auto boxes = plain_boxes({rows.begin(), rows.begin() + depth}, {rows.begin()[depth]},
                                   *domain_facts_of(scop[statement]));
    if (!boxes)
      return std::nullopt;
    most = std::max(most, *scalar::constant_of(boxes->extent[0]));
  }
  return most;
}

/// As `is_plain_rectangle`, all values gone through.
std::optional<bool> is_counted_rectangle(const Scop& scop, const Order& order, LoopId outer,
                                         LoopId inner) {
  const std::vector<StmtId> below = statements_below(order, inner);
  const size_t first = *depth_of(order, outer), last = *depth_of(order, inner);
  if (below.size() != 1 || !scop.params.empty())
    return std::nullopt;
  const auto domain = domain_facts_of(scop[below.front()]);
  const std::vector<Expr> rows = canonical_rows(order.rows[below.front().value], last, *domain);
  const auto iterator_group = iterator_group_at(rows, last, *domain);
  if (!iterator_group)
    return std::nullopt;
  std::vector<size_t> around, between;
  for (size_t k = 0; k < last; ++k)
    if (is_about(rows[k], *iterator_group))
      (k < first ? around : between).push_back(k);
  // By what is around: blocks, values of the inner loop, and how many of their pairs there are.
  struct Seen {
    std::set<std::vector<int64_t>> blocks, values, pairs;
  };
  std::map<std::vector<int64_t>, Seen> all;
  for (const std::vector<int64_t>& point : iterator_group->points) {
    Seen& seen = all[values_at(rows, around, point)];
    std::vector<int64_t> pair = values_at(rows, between, point);
    seen.blocks.insert(pair);
    seen.values.insert(values_at(rows, {last}, point));
    pair.push_back(scalar::evaluate_index(rows[last], point, {}).value());
    seen.pairs.insert(std::move(pair));
  }
  return std::all_of(all.begin(), all.end(), [](const auto& entry) {
    const Seen& seen = entry.second;
    return seen.pairs.size() == seen.blocks.size() * seen.values.size();
  });
}

} // namespace

std::optional<ConstantRange> range_of_iterator(const Scop& scop, const Order& order, LoopId loop) {
  const size_t depth = *depth_of(order, loop);
  std::optional<ConstantRange> range;
  for (const StmtId statement : statements_below(order, loop)) {
    const auto domain = domain_facts_of(scop[statement]);
    const std::vector<Expr> rows = canonical_rows(order.rows[statement.value], depth, *domain);
    const auto it = scalar::iterator_of(rows[depth]);
    if (!it)
      return std::nullopt;
    for (size_t k = 0; k < depth; ++k)
      if (scalar::mentions_iterator(rows[k], *it))
        return std::nullopt;
    const auto own = domain->free_range(*it);
    if (!own || (range && (range->low != own->first || range->high != own->second)))
      return std::nullopt;
    range = ConstantRange{own->first, own->second};
  }
  return range;
}

std::optional<bool> is_plain_rectangle(const Scop& scop, const Order& order, LoopId outer,
                                       LoopId inner) {
  return range_of_iterator(scop, order, inner) ? std::optional(true)
                                               : is_counted_rectangle(scop, order, outer, inner);
}

std::optional<int64_t> longest_plain_run(const Scop& scop, const Order& order, LoopId loop) {
  if (const auto range = range_of_iterator(scop, order, loop))
    return range->high - range->low + 1;
  const auto box = longest_box(scop, order, loop);
  return box ? box : longest_counted_run(scop, order, loop);
}

} // namespace kawara::poly
