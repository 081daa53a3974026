#include "poly/legality.h"

#include "poly/affine.h"
#include "poly/isl/compare.h"
#include "poly/isl/dimensions.h"
#include "poly/witness.h"
#include "support/check.h"

#include <algorithm>

namespace kawara::poly {
namespace {

using Rows = std::vector<std::vector<isl::pw_aff>>;

/// What `order` does to one dependence, level by level: `bad` gathers the pairs whose source comes
/// later at a loop, `tied` the pairs that agree so far.
isl::map late_pairs(const isl::map& pairs, const Rows& rows, StmtId x, StmtId y, Meeting meeting) {
  isl::map bad = isl::map::empty(pairs.space());
  isl::map tied = pairs;
  for (size_t k = 0; k < meeting.shared_loops && !tied.is_empty(); ++k) {
    const isl::pw_aff& a = rows[x.value][k];
    const isl::pw_aff& b = rows[y.value][k];
    bad = bad.unite(tied.intersect(greater_map(a, b)));
    tied = tied.intersect(equal_map(a, b));
  }
  return meeting.order >= 0 ? bad.unite(tied) : bad;
}

isl::map tied_above(const isl::map& pairs, const Rows& rows, StmtId x, StmtId y, size_t depth) {
  isl::map tied = pairs;
  for (size_t k = 0; k < depth && !tied.is_empty(); ++k)
    tied = tied.intersect(equal_map(rows[x.value][k], rows[y.value][k]));
  return tied;
}

/// Depth one past the last loop that runs as one with the loop at `depth` (coalesce).
size_t group_end(const Order& order, const std::vector<LoopId>& path, size_t depth) {
  size_t end = depth + 1;
  while (end < path.size() && order[path[end]].is_coalesced_into_parent)
    ++end;
  return end;
}

/// Pairs in different iterations of the parallel loop at `depth`.
isl::map colliding_pairs(const isl::map& pairs, const Rows& rows, StmtId x, StmtId y, size_t depth,
                         size_t end) {
  isl::map bad = isl::map::empty(pairs.space());
  isl::map tied = tied_above(pairs, rows, x, y, depth);
  for (size_t k = depth; k < end; ++k) {
    const isl::pw_aff& a = rows[x.value][k];
    const isl::pw_aff& b = rows[y.value][k];
    bad = bad.unite(tied.intersect(less_map(a, b).unite(greater_map(a, b))));
    tied = tied.intersect(equal_map(a, b));
  }
  return bad;
}

/// Pairs in one vector of the loop at `depth` whose order lanes do not keep: lanes run statement by
/// statement, each reading before any writes.
isl::map clashing_lanes(const Dependence& d, const Rows& rows, size_t depth, int64_t width,
                        Meeting meeting) {
  const bool is_kept = meeting.order < 0 || (meeting.order == 0 && d.kind == DependenceKind::Anti);
  if (is_kept)
    return isl::map::empty(d.relation.space());
  const isl::map tied = tied_above(d.relation, rows, d.source, d.sink, depth);
  const isl::pw_aff& a = rows[d.source.value][depth];
  const isl::pw_aff& b = rows[d.sink.value][depth];
  return tied.intersect(less_map(a, b))
      .intersect(greater_map(a.add_constant(static_cast<long>(width)), b));
}

/// Rows on the whole space of a statement: the pairs they are compared on lie within the domains
/// already, and comparisons without domains are much cheaper.
std::vector<isl::pw_aff> unbounded_rows(const Scop& scop, const Order& order, StmtId id) {
  const isl::set everywhere = isl::set::universe(scop[id].domain.space());
  std::vector<isl::pw_aff> rows;
  for (const Expr& row : order.rows[id.value])
    rows.push_back(pw_aff_from_expr(row, everywhere, scop.params));
  return rows;
}

class Judgement {
public:
  Judgement(const Scop& scop, const Order& order) : scop_(scop), order_(order) {
    rows_.resize(scop.statements.size());
    for (uint32_t s = 0; s < scop.statements.size(); ++s)
      if (!scop.statements[s].is_removed)
        rows_[s] = unbounded_rows(scop, order, StmtId{s});
  }

  Verdict verdict() {
    for (size_t d = 0; d < scop_.dependences.size(); ++d)
      examine(d);
    if (!violations_.empty())
      return first_witness(scop_, order_, violations_);
    return Legal{reassociates_};
  }

private:
  void examine(size_t index) {
    const Dependence& d = scop_.dependences[index];
    const Meeting meeting = meet(order_, d.source, d.sink);
    const bool may_reassociate = d.is_reduction && scop_.numerics != program::Numerics::Exact;
    const isl::map late = late_pairs(d.relation, rows_, d.source, d.sink, meeting);
    if (may_reassociate)
      reassociates_ = reassociates_ || !late.is_empty();
    else
      add(Broken::Order, index, LoopId{}, late);

    const std::vector<LoopId> path = path_of(order_, d.source);
    for (size_t depth = 0; depth < meeting.shared_loops; ++depth) {
      const Marks& marks = order_[path[depth]].marks;
      const size_t end = std::min(group_end(order_, path, depth), meeting.shared_loops);
      if (marks.is_parallel || marks.axis != Axis::None) {
        const isl::map pairs = colliding_pairs(d.relation, rows_, d.source, d.sink, depth, end);
        if (may_reassociate && !marks.is_parallel && marks.axis == Axis::ThreadX &&
            updates_one_cell(d, depth))
          reassociates_ = reassociates_ || !pairs.is_empty();
        else
          add(Broken::Parallel, index, path[depth], pairs);
      }
      if (marks.vector_width > 1) {
        const isl::map lanes = clashing_lanes(d, rows_, end - 1, marks.vector_width, meeting);
        if (may_reassociate)
          reassociates_ = reassociates_ || !lanes.is_empty();
        else
          add(Broken::Vector, index, path[depth], lanes);
      }
    }
  }

  /// Threads of one block can add up what each of them has, for one cell at a time: all iterations that share
  /// the loops above `depth` update the same one.
  bool updates_one_cell(const Dependence& d, size_t depth) const {
    if (d.source != d.sink)
      return false;
    const isl::set& domain = scop_[d.source].domain;
    const isl::map together = tied_above(pairs_of(domain, domain), rows_, d.source, d.sink, depth);
    return together.subtract(d.relation)
        .subtract(d.relation.reverse())
        .subtract(domain.identity())
        .is_empty();
  }

  void add(Broken broken, size_t dependence, LoopId loop, const isl::map& pairs) {
    if (!pairs.is_empty())
      violations_.push_back({broken, dependence, loop, pairs});
  }

  const Scop& scop_;
  const Order& order_;
  Rows rows_;
  std::vector<Violation> violations_;
  bool reassociates_ = false;
};

isl::map all_pairs(const Scop& scop, StmtId x, StmtId y) {
  return pairs_of(scop[x].domain, scop[y].domain);
}

Rows rows_of(const Scop& scop, const Order& order, StmtId x, StmtId y) {
  Rows rows(scop.statements.size());
  rows[x.value] = unbounded_rows(scop, order, x);
  rows[y.value] = unbounded_rows(scop, order, y);
  return rows;
}

} // namespace

Verdict judge(const Scop& scop, const Order& order, unsigned long quota) {
  Verdict verdict = Undecided{};
  const bool finished =
      within_quota(*scop.context_owner, quota, [&] { verdict = Judgement(scop, order).verdict(); });
  if (finished)
    return verdict;
  return Undecided{"the proof needs more than " + std::to_string(quota) +
                   " operations on integer sets"};
}

isl::map not_before(const Scop& scop, const Order& order, StmtId x, StmtId y) {
  return late_pairs(all_pairs(scop, x, y), rows_of(scop, order, x, y), x, y, meet(order, x, y));
}

isl::map before(const Scop& scop, const Order& order, StmtId x, StmtId y) {
  isl::map early = isl::map::empty(all_pairs(scop, x, y).space());
  isl::map tied = all_pairs(scop, x, y);
  const Rows rows = rows_of(scop, order, x, y);
  const Meeting meeting = meet(order, x, y);
  for (size_t k = 0; k < meeting.shared_loops; ++k) {
    early = early.unite(tied.intersect(less_map(rows[x.value][k], rows[y.value][k])));
    tied = tied.intersect(equal_map(rows[x.value][k], rows[y.value][k]));
  }
  return meeting.order < 0 ? early.unite(tied) : early;
}

} // namespace kawara::poly
