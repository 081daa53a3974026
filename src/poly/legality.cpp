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

/// Which loops have the same value on both sides of every pair, seen from the text of their rows: they are
/// the same function of iterators that the pairs have in common. Nothing is decided there, and left
/// out of the sets such loops (tiles, mostly) cost nothing.
std::vector<bool> loops_in_common(const Scop& scop, const Order& order, const Dependence& d,
                                  size_t shared_loops) {
  const auto &from = scop[d.source].text.iters, &to = scop[d.sink].text.iters;
  std::vector<Expr> twins(from.size());
  for (uint32_t i = 0; i < from.size(); ++i)
    for (uint32_t j = 0; j < to.size() && !twins[i]; ++j)
      if (from[i] == to[j] && has_equal_dims(d.relation, i, j))
        twins[i] = scalar::iter(j);
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
    in_common.push_back(is_in_common(order.rows[d.source.value][k], order.rows[d.sink.value][k]));
  return in_common;
}

/// What an order does to the pairs of one dependence, loop by loop. Every level is worked out once: the
/// order, the parallel loops and the lanes all ask for the pairs that agree in the loops above.
class Levels {
public:
  Levels(const isl::map& pairs, const Rows& rows, StmtId source, StmtId sink,
         std::vector<bool> in_common = {})
      : source_(rows[source.value]), sink_(rows[sink.value]), in_common_(std::move(in_common)),
        none_(isl::map::empty(pairs.space())) {
    tied_.push_back(pairs.is_empty() ? none_ : pairs);
    is_over_ = tied_.back().is_empty();
  }

  /// Pairs that agree in the loops above `depth`.
  const isl::map& tied(size_t depth) {
    while (tied_.size() <= depth && !is_over_) {
      const size_t k = tied_.size() - 1;
      if (is_in_common(k)) {
        tied_.push_back(tied_.back());
        continue;
      }
      tied_.push_back(tied_.back().intersect(equal_map(source_[k], sink_[k])));
      is_over_ = tied_.back().is_empty();
    }
    return depth < tied_.size() ? tied_[depth] : none_;
  }

  /// Those whose source comes later at `depth`.
  const isl::map& late(size_t depth) {
    while (late_.size() <= depth) {
      const size_t k = late_.size();
      const isl::map& agreed = tied(k);
      late_.push_back(is_none(k) ? none_ : agreed.intersect(greater_map(source_[k], sink_[k])));
    }
    return late_[depth];
  }

  isl::map early(size_t depth) {
    const isl::map& agreed = tied(depth);
    return is_none(depth) ? none_ : agreed.intersect(less_map(source_[depth], sink_[depth]));
  }

  /// Those less than `width` iterations ahead.
  isl::map early_within(size_t depth, int64_t width) {
    const isl::map near = early(depth);
    if (is_none(depth))
      return near;
    const isl::pw_aff end = source_[depth].add_constant(static_cast<long>(width));
    return near.intersect(greater_map(end, sink_[depth]));
  }

  const isl::map& none() const { return none_; }

private:
  bool is_in_common(size_t depth) const { return depth < in_common_.size() && in_common_[depth]; }

  /// No pair is ahead or behind at `depth`: all have gone their ways above it, or none does so here.
  bool is_none(size_t depth) const {
    return is_in_common(depth) || (is_over_ && depth + 1 >= tied_.size());
  }

  const std::vector<isl::pw_aff>& source_;
  const std::vector<isl::pw_aff>& sink_;
  std::vector<bool> in_common_;
  isl::map none_;
  std::vector<isl::map> tied_, late_;
  bool is_over_ = false; ///< the last of `tied_` is empty, hence all that would follow
};

/// Pairs whose source does not come first.
isl::map late_pairs(Levels& levels, Meeting meeting) {
  isl::map bad = meeting.order >= 0 ? levels.tied(meeting.shared_loops) : levels.none();
  for (size_t k = 0; k < meeting.shared_loops; ++k)
    bad = bad.unite(levels.late(k));
  return bad;
}

/// Depth one past the last loop that runs as one with the loop at `depth` (coalesce).
size_t group_end(const Order& order, const std::vector<LoopId>& path, size_t depth) {
  size_t end = depth + 1;
  while (end < path.size() && order[path[end]].is_coalesced_into_parent)
    ++end;
  return end;
}

/// Pairs in different iterations of the parallel loop at `depth`.
isl::map colliding_pairs(Levels& levels, size_t depth, size_t end) {
  isl::map bad = levels.none();
  for (size_t k = depth; k < end; ++k)
    bad = bad.unite(levels.early(k)).unite(levels.late(k));
  return bad;
}

/// Pairs in one vector of the loop at `depth` whose order lanes do not keep: lanes run statement by
/// statement, each reading before any writes.
isl::map clashing_lanes(Levels& levels, DependenceKind kind, size_t depth, int64_t width,
                        Meeting meeting) {
  const bool is_kept = meeting.order < 0 || (meeting.order == 0 && kind == DependenceKind::Anti);
  return is_kept ? levels.none() : levels.early_within(depth, width);
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
    if (meeting.shared_loops == 0 && meeting.order < 0)
      return;
    const bool may_reassociate = d.is_reduction && scop_.numerics != program::Numerics::Exact;
    Levels levels(d.relation, rows_, d.source, d.sink,
                  loops_in_common(scop_, order_, d, meeting.shared_loops));
    if (may_reassociate)
      reassociates_ = reassociates_ || !late_pairs(levels, meeting).is_empty();
    else
      add(Broken::Order, index, LoopId{}, late_pairs(levels, meeting));

    const std::vector<LoopId> path = path_of(order_, d.source);
    for (size_t depth = 0; depth < meeting.shared_loops; ++depth) {
      const Marks& marks = order_[path[depth]].marks;
      const size_t end = std::min(group_end(order_, path, depth), meeting.shared_loops);
      if (marks.is_parallel || marks.axis != Axis::None) {
        const isl::map pairs = colliding_pairs(levels, depth, end);
        if (may_reassociate && !marks.is_parallel && marks.axis == Axis::ThreadX &&
            updates_one_cell(d, depth))
          reassociates_ = reassociates_ || !pairs.is_empty();
        else
          add(Broken::Parallel, index, path[depth], pairs);
      }
      if (marks.vector_width > 1) {
        const auto lanes = [&] {
          return clashing_lanes(levels, d.kind, end - 1, marks.vector_width, meeting);
        };
        if (may_reassociate)
          reassociates_ = reassociates_ || !lanes().is_empty();
        else
          add(Broken::Vector, index, path[depth], lanes());
      }
    }
  }

  /// Threads of one block can add up what each of them has, for one cell at a time: all iterations that share
  /// the loops above `depth` update the same one.
  bool updates_one_cell(const Dependence& d, size_t depth) const {
    if (d.source != d.sink)
      return false;
    const isl::set& domain = scop_[d.source].domain;
    Levels levels(pairs_of(domain, domain), rows_, d.source, d.sink);
    return levels.tied(depth)
        .subtract(d.relation)
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
  const Rows rows = rows_of(scop, order, x, y);
  Levels levels(all_pairs(scop, x, y), rows, x, y);
  return late_pairs(levels, meet(order, x, y));
}

isl::map before(const Scop& scop, const Order& order, StmtId x, StmtId y) {
  const isl::space space = all_pairs(scop, x, y).space();
  isl::map early = isl::map::empty(space), tied = isl::map::universe(space);
  const Rows rows = rows_of(scop, order, x, y);
  const Meeting meeting = meet(order, x, y);
  for (size_t k = 0; k < meeting.shared_loops; ++k) {
    early = early.unite(tied.intersect(less_map(rows[x.value][k], rows[y.value][k])));
    tied = tied.intersect(equal_map(rows[x.value][k], rows[y.value][k]));
  }
  return meeting.order < 0 ? early.unite(tied) : early;
}

} // namespace kawara::poly
