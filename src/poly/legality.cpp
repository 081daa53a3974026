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

  /// Notes what has been proved. Not before all is finished: what isl says when its quota runs out is no answer.
  void remember() {
    for (Learned& learned : learned_) {
      Shown& shown = *scop_.dependences[learned.dependence].shown;
      shown.twins = std::move(learned.twins);
      shown.kept.push_back(std::move(learned.kept));
    }
  }

private:
  void examine(size_t index) {
    const Dependence& d = scop_.dependences[index];
    const Meeting meeting = meet(order_, d.source, d.sink);
    if (meeting.shared_loops == 0 && meeting.order < 0)
      return;
    const std::vector<Expr> twins =
        d.shown && d.shown->twins ? *d.shown->twins : twins_of(scop_, d.relation, d.source, d.sink);
    const std::vector<bool> in_common =
        loops_in_common(order_, twins, d.source, d.sink, meeting.shared_loops);
    KeptOrder asked = question(d, meeting, in_common);
    if (const KeptOrder* kept = d.shown ? find_kept(*d.shown, asked) : nullptr) {
      reassociates_ = reassociates_ || kept->reassociates;
      return;
    }
    const size_t violations = violations_.size();
    Levels levels(d.relation, rows_, d.source, d.sink, in_common);
    asked.reassociates = examine(index, meeting, levels, asked.may_reassociate);
    reassociates_ = reassociates_ || asked.reassociates;
    if (d.shown && violations == violations_.size() && !asks_for_cells(d, meeting))
      learned_.push_back({index, twins, std::move(asked)});
  }

  /// Adds what is violated. True when pairs of a reduction change their order, or run together.
  bool examine(size_t index, Meeting meeting, Levels& levels, bool may_reassociate) {
    const Dependence& d = scop_.dependences[index];
    bool reassociates = false;
    const auto take = [&](Broken broken, LoopId loop, const isl::map& pairs, bool is_allowed) {
      if (pairs.is_empty())
        return;
      if (is_allowed)
        reassociates = true;
      else
        violations_.push_back({broken, index, loop, pairs});
    };
    take(Broken::Order, LoopId{}, late_pairs(levels, meeting), may_reassociate);
    const std::vector<LoopId> path = path_of(order_, d.source);
    for (size_t depth = 0; depth < meeting.shared_loops; ++depth) {
      const Marks& marks = order_[path[depth]].marks;
      const size_t end = std::min(group_end(order_, path, depth), meeting.shared_loops);
      if (marks.is_parallel || marks.axis != Axis::None)
        take(Broken::Parallel, path[depth], colliding_pairs(levels, depth, end),
             may_reassociate && !marks.is_parallel && marks.axis == Axis::ThreadX &&
                 updates_one_cell(d, depth));
      if (marks.vector_width > 1)
        take(Broken::Vector, path[depth],
             clashing_lanes(levels, d.kind, end - 1, marks.vector_width, meeting), may_reassociate);
    }
    return reassociates;
  }

  KeptOrder question(const Dependence& d, Meeting meeting,
                     const std::vector<bool>& in_common) const {
    const std::vector<LoopId> path = path_of(order_, d.source);
    std::vector<KeptOrder::Level> all(meeting.shared_loops);
    for (size_t depth = 0; depth < meeting.shared_loops; ++depth) {
      const Marks& marks = order_[path[depth]].marks;
      const size_t end = std::min(group_end(order_, path, depth), meeting.shared_loops);
      all[depth].source = order_.rows[d.source.value][depth];
      all[depth].sink = order_.rows[d.sink.value][depth];
      for (size_t k = depth; k < end; ++k)
        all[k].is_parallel = all[k].is_parallel || marks.is_parallel || marks.axis != Axis::None;
      // Of lanes that run together in wider vectors as well the wider ones decide.
      all[end - 1].vector_width = std::max<int64_t>(all[end - 1].vector_width, marks.vector_width);
    }
    KeptOrder asked;
    for (size_t depth = 0; depth < all.size(); ++depth)
      if (!in_common[depth])
        asked.levels.push_back(std::move(all[depth]));
    asked.order = meeting.order < 0 ? -1 : meeting.order > 0 ? 1 : 0;
    asked.may_reassociate = d.is_reduction && scop_.numerics != program::Numerics::Exact;
    return asked;
  }

  /// The answer is not one about the pairs alone.
  bool asks_for_cells(const Dependence& d, Meeting meeting) const {
    const std::vector<LoopId> path = path_of(order_, d.source);
    return d.is_reduction &&
           std::any_of(path.begin(),
                       path.begin() + static_cast<std::ptrdiff_t>(meeting.shared_loops),
                       [&](LoopId loop) { return order_[loop].marks.axis == Axis::ThreadX; });
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

  const Scop& scop_;
  const Order& order_;
  RowFunctions rows_;
  std::vector<Violation> violations_;
  bool reassociates_ = false;
  struct Learned {
    size_t dependence = 0;
    std::vector<Expr> twins;
    KeptOrder kept;
  };
  std::vector<Learned> learned_;
};

isl::map all_pairs(const Scop& scop, StmtId x, StmtId y) {
  return pairs_of(scop[x].domain, scop[y].domain);
}

} // namespace

Verdict judge(const Scop& scop, const Order& order, unsigned long quota) {
  Verdict verdict = Undecided{};
  Judgement judgement(scop, order);
  const bool finished =
      within_quota(*scop.context_owner, quota, [&] { verdict = judgement.verdict(); });
  if (finished) {
    judgement.remember();
    return verdict;
  }
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
