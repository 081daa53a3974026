#include "poly/legality/legality.h"

#include "poly/accesses.h"
#include "poly/isl/dimensions.h"
#include "poly/legality/levels.h"
#include "poly/legality/witness.h"
#include "poly/syntactic/against_sets.h"
#include "poly/syntactic/prover.h"
#include "scalar/running_value.h"
#include "support/check.h"

#include <algorithm>

namespace kawara::poly {
namespace {

/// Pairs whose source does not come first.
isl::map late_pairs(Levels& levels, int order) {
  isl::map bad = order >= 0 ? levels.tied(levels.steps().size()) : levels.none();
  for (size_t k = 0; k < levels.steps().size(); ++k)
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
    if (const auto step = levels.step_at(k))
      bad = bad.unite(levels.early(*step)).unite(levels.late(*step));
  return bad;
}

/// Pairs in one vector of the loop at `depth` whose order lanes do not keep: lanes run statement by
/// statement, each reading before any writes.
isl::map clashing_lanes(Levels& levels, DependenceKind kind, size_t depth, int64_t width,
                        Meeting meeting) {
  const bool is_kept = meeting.order < 0 || (meeting.order == 0 && kind == DependenceKind::Anti);
  const auto step = levels.step_at(depth);
  return is_kept || !step ? levels.none() : levels.early_within(*step, width);
}

/// Is it the dependence on the element that a scan's iteration before stored (s[i] = s[i - 1] +
/// x[i]), and may the scan be regrouped? Storing must round nothing.
bool is_running_value(const Scop& scop, const Dependence& d) {
  const program::Statement& text = scop[d.source].text;
  const scalar::Elem elem = scop.tensors[d.tensor].elem;
  return d.kind == DependenceKind::Flow && d.source == d.sink && d.tensor == text.tensor &&
         !text.over && scop.numerics != program::Numerics::Exact &&
         scalar::compute_type(elem) == elem && text.value.type().elem == elem &&
         scalar::running_value(scalar::load(text.tensor, text.index, {elem, 1}), text.op,
                               text.value)
             .has_value();
}

/// Those of the pairs that lanes of a scan keep: each lane needs the one before it.
isl::map handed_on(Levels& levels, size_t depth) {
  const auto step = levels.step_at(depth);
  return step ? levels.early_within(*step, 2) : levels.none();
}

/// The marks of the loops that two statements share, as far as they are questions.
std::vector<ProvedOrder::Level> marks_of(const Order& order, const std::vector<LoopId>& path,
                                         size_t loops) {
  std::vector<ProvedOrder::Level> all(loops);
  for (size_t depth = 0; depth < loops; ++depth) {
    const Marks& marks = order[path[depth]].marks;
    const size_t end = std::min(group_end(order, path, depth), loops);
    for (size_t k = depth; k < end; ++k)
      all[k].is_parallel = all[k].is_parallel || marks.is_parallel || marks.axis != Axis::None;
    // Of lanes that run together in wider vectors as well the wider ones decide.
    all[end - 1].vector_width = std::max<int64_t>(all[end - 1].vector_width, marks.vector_width);
    all[end - 1].is_scan = all[end - 1].is_scan || marks.is_scan;
  }
  return all;
}

/// A dependence under an order, as the judge sees it.
struct Asked {
  std::shared_ptr<const Equalities> equalities;
  std::vector<Step> steps;
  ProvedOrder asked;
};

Asked asked_of(const Scop& scop, const Order& order, const Dependence& d, Meeting meeting) {
  const SyntacticProver prover(scop);
  Asked question;
  question.equalities =
      d.shown && d.shown->equalities
          ? d.shown->equalities
          : std::make_shared<const Equalities>(prover.equalities_of(d.relation, d.source, d.sink));
  const std::vector<ProvedOrder::Level> marks =
      marks_of(order, path_of(order, d.source), meeting.shared_loops);
  std::vector<bool> is_apart;
  for (const ProvedOrder::Level& level : marks)
    is_apart.push_back(level.is_parallel || level.vector_width > 0);
  question.steps = prover.steps(order, *question.equalities, meeting.shared_loops, is_apart);
  for (const Step& step : question.steps) {
    ProvedOrder::Level level = marks[step.first];
    level.source = step.source;
    level.sink = step.sink;
    question.asked.levels.push_back(std::move(level));
  }
  question.asked.order = meeting.order < 0 ? -1 : meeting.order > 0 ? 1 : 0;
  question.asked.may_reassociate = d.is_reduction && scop.numerics != program::Numerics::Exact;
  return question;
}

class Judgement {
public:
  Judgement(const Scop& scop, const Order& order) : scop_(scop), order_(order), prover_(scop) {}

  Verdict verdict() {
    for (size_t d = 0; d < scop_.dependences.size(); ++d)
      examine(d);
    if (!violations_.empty())
      return first_witness(scop_, order_, violations_);
    return Legal{reassociates_};
  }

  /// Notes what has been proved. Not before all is finished: what isl says when its quota runs out
  /// is no answer.
  void remember() {
    for (Learned& learned : learned_) {
      ProofCache& shown = *scop_.dependences[learned.dependence].shown;
      shown.equalities = std::move(learned.equalities);
      shown.kept.push_back(std::move(learned.kept));
    }
  }

private:
  void examine(size_t index) {
    const Dependence& d = scop_.dependences[index];
    const Meeting meeting = meet(order_, d.source, d.sink);
    if (meeting.shared_loops == 0 && meeting.order < 0)
      return;
    Asked question = asked_of(scop_, order_, d, meeting);
    ProvedOrder& asked = question.asked;
    const ProvedOrder* kept = d.shown ? find_kept(*d.shown, asked) : nullptr;
    if (prover_.remembered(Question::Proved, yes_or_unknown(kept != nullptr)) == Answer::Yes) {
      const bool reassociates = kept != nullptr && kept->reassociates;
      prover_.compare(
          Question::Proved,
          [&] { return "from " + scop_[d.source].text.name + " to " + scop_[d.sink].text.name; },
          [&] { return against_proved(index, meeting, asked.may_reassociate, reassociates); });
      reassociates_ = reassociates_ || reassociates;
      return;
    }
    const size_t violations = violations_.size();
    // With nothing left to decide the sequence has decided.
    if (!asked.levels.empty() || asked.order >= 0) {
      Levels levels(scop_, d.relation, d.source, d.sink, question.steps);
      asked.reassociates = examine(index, meeting, levels, asked.may_reassociate);
      reassociates_ = reassociates_ || asked.reassociates;
    }
    if (d.shown && violations == violations_.size() && !asks_for_elements(d, meeting))
      learned_.push_back({index, std::move(question.equalities), std::move(asked)});
  }

  /// The dependence worked out again, loop by loop.
  Counterexample against_proved(size_t index, Meeting meeting, bool may_reassociate,
                                bool reassociates) const {
    const Dependence& d = scop_.dependences[index];
    std::vector<Step> steps;
    for (size_t k = 0; k < meeting.shared_loops; ++k)
      steps.push_back({order_.rows[d.source.value][k], order_.rows[d.sink.value][k], k, k});
    Levels levels(scop_, d.relation, d.source, d.sink, std::move(steps));
    Judgement again(scop_, order_);
    const bool is_so = again.examine(index, meeting, levels, may_reassociate) == reassociates;
    if (!again.violations_.empty())
      return point_of(again.violations_.front().pairs);
    return is_so ? std::nullopt : Counterexample("pairs of a reduction change their order");
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
    take(Broken::Order, LoopId{}, late_pairs(levels, meeting.order), may_reassociate);
    const std::vector<LoopId> path = path_of(order_, d.source);
    for (size_t depth = 0; depth < meeting.shared_loops; ++depth) {
      const Marks& marks = order_[path[depth]].marks;
      const size_t end = std::min(group_end(order_, path, depth), meeting.shared_loops);
      if (marks.is_parallel || marks.axis != Axis::None)
        take(Broken::Parallel, path[depth], colliding_pairs(levels, depth, end),
             may_reassociate && !marks.is_parallel && marks.axis == Axis::ThreadX &&
                 updates_one_element(d, depth));
      if (marks.vector_width > 1) {
        isl::map clashes = clashing_lanes(levels, d.kind, end - 1, marks.vector_width, meeting);
        if (marks.is_scan && !clashes.is_empty() && is_running_value(scop_, d)) {
          reassociates = true;
          clashes = clashes.subtract(handed_on(levels, end - 1));
        }
        take(Broken::Vector, path[depth], clashes, may_reassociate);
      }
    }
    return reassociates;
  }

  /// The answer is not one about the pairs alone.
  bool asks_for_elements(const Dependence& d, Meeting meeting) const {
    const std::vector<LoopId> path = path_of(order_, d.source);
    return d.is_reduction &&
           std::any_of(path.begin(),
                       path.begin() + static_cast<std::ptrdiff_t>(meeting.shared_loops),
                       [&](LoopId loop) { return order_[loop].marks.axis == Axis::ThreadX; });
  }

  /// Threads of one block can add up what each of them has, for one element at a time: all
  /// iterations that share the loops above `depth` update the same one.
  bool updates_one_element(const Dependence& d, size_t depth) {
    const program::Statement& text = scop_[d.source].text;
    // Elements that data choose may be one and may be several.
    const bool is_known =
        !text.over && std::all_of(text.index.begin(), text.index.end(),
                                  [&](const Expr& e) { return is_known_index(e, text); });
    if (d.source != d.sink || !is_known)
      return false;
    const isl::set& domain = scop_[d.source].domain;
    const std::vector<Expr>& rows = order_.rows[d.source.value];
    std::vector<Step> steps;
    for (size_t k = 0; k < depth; ++k)
      steps.push_back({rows[k], rows[k], k, k});
    Levels levels(scop_, pairs_of(domain, domain), d.source, d.sink, steps);
    return levels.tied(depth)
        .subtract(d.relation)
        .subtract(d.relation.reverse())
        .subtract(domain.identity())
        .is_empty();
  }

  const Scop& scop_;
  const Order& order_;
  const SyntacticProver prover_;
  std::vector<Violation> violations_;
  bool reassociates_ = false;
  struct Learned {
    size_t dependence = 0;
    std::shared_ptr<const Equalities> equalities;
    ProvedOrder kept;
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

bool runs_as_scan(const Scop& scop, const Order& order, LoopId loop, unsigned long quota) {
  bool found = false;
  const auto look = [&] {
    for (const Dependence& d : scop.dependences) {
      if (!is_running_value(scop, d))
        continue;
      const std::vector<LoopId> path = path_of(order, d.source);
      const auto at = std::find(path.begin(), path.end(), loop);
      if (at == path.end())
        continue;
      const Meeting meeting = meet(order, d.source, d.sink);
      Levels levels(scop, d.relation, d.source, d.sink, asked_of(scop, order, d, meeting).steps);
      found = found || !handed_on(levels, static_cast<size_t>(at - path.begin())).is_empty();
    }
  };
  return within_quota(*scop.context_owner, quota, look) && found;
}

bool is_known_to_keep(const Scop& scop, const Order& order, const Dependence& d) {
  const Meeting meeting = meet(order, d.source, d.sink);
  if (meeting.shared_loops == 0)
    return meeting.order < 0;
  const Asked question = asked_of(scop, order, d, meeting);
  if (question.asked.levels.empty() && question.asked.order < 0)
    return true;
  const ProvedOrder* kept = d.shown ? find_kept(*d.shown, question.asked) : nullptr;
  return kept != nullptr && !kept->reassociates;
}

isl::map before(const Scop& scop, const Order& order, StmtId x, StmtId y) {
  const SyntacticProver prover(scop);
  const Meeting meeting = meet(order, x, y);
  return pairs_in_order(scop, isl::map::universe(all_pairs(scop, x, y).space()), x, y,
                        prover.steps(order, prover.no_equalities(x, y), meeting.shared_loops),
                        meeting.order);
}

} // namespace kawara::poly
