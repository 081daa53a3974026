#include "poly/legality.h"

#include "poly/isl/dimensions.h"
#include "poly/levels.h"
#include "poly/witness.h"
#include "support/check.h"

#include <algorithm>

namespace kawara::poly {
namespace {

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

class Judgement {
public:
  Judgement(const Scop& scop, const Order& order)
      : scop_(scop), order_(order), rows_(scop, order) {}

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
    const std::vector<bool> in_common =
        loops_in_common(order_, twins_of(scop_, d.relation, d.source, d.sink), d.source, d.sink,
                        meeting.shared_loops);
    Levels levels(d.relation, rows_, d.source, d.sink, in_common);
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
  bool updates_one_cell(const Dependence& d, size_t depth) {
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
  RowFunctions rows_;
  std::vector<Violation> violations_;
  bool reassociates_ = false;
};

isl::map all_pairs(const Scop& scop, StmtId x, StmtId y) {
  return pairs_of(scop[x].domain, scop[y].domain);
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
  RowFunctions rows(scop, order);
  Levels levels(all_pairs(scop, x, y), rows, x, y);
  return late_pairs(levels, meet(order, x, y));
}

isl::map before(const Scop& scop, const Order& order, StmtId x, StmtId y) {
  return pairs_in_order(scop, order, isl::map::universe(all_pairs(scop, x, y).space()), x, y);
}

} // namespace kawara::poly
