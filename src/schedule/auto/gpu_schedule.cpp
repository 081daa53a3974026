#include "schedule/auto/gpu_schedule.h"

#include "schedule/auto/facts/distribution.h"
#include "schedule/auto/rule/choose.h"
#include "schedule/auto/rules.h"
#include "schedule/buffers/window_fill.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

#include <algorithm>
#include <set>

namespace kawara::schedule {
namespace {

using poly::LoopId;
using poly::StmtId;

/// Walks the nests of an order for a GPU, phase by phase, and lets the rules choose.
class GpuPlanner {
public:
  GpuPlanner(Schedule schedule, const Environment& environment)
      : schedule_(std::move(schedule)), environment_(environment) {}

  /// Loops to blocks and threads alone: what is not known of elements nothing else is done with.
  Schedule bound() {
    for (const LoopId loop : child_loops(schedule_.order.body))
      improve(loop);
    return std::move(schedule_);
  }

  Schedule run() {
    const std::vector<LoopId> loops = child_loops(schedule_.order.body);
    if (!loops.empty() && take(loops.front(), Phase::Chains))
      mark_blocks();
    for (const LoopId loop : child_loops(schedule_.order.body))
      if (!done_.contains(loop))
        plan_few_rows(loop);
    for (const LoopId loop : child_loops(schedule_.order.body))
      if (!done_.contains(loop) && has_product(loop))
        distribute_all(schedule_, loop);
    for (const LoopId loop : child_loops(schedule_.order.body))
      if (!done_.contains(loop) && is_there(loop) && take(loop, Phase::Products))
        mark_blocks();
    join_rows();
    for (const LoopId loop : child_loops(schedule_.order.body))
      if (!done_.contains(loop))
        improve(loop);
    return std::move(schedule_);
  }

private:
  LoopName name(LoopId loop) const { return name_of_loop(schedule_.scop, schedule_.order, loop); }
  bool go(const std::vector<Directive>& plan) { return apply_all(schedule_, plan, environment_); }

  bool is_parallel(LoopId loop) const {
    poly::Order order = schedule_.order;
    order[loop].marks.is_parallel = true;
    return std::holds_alternative<poly::Legal>(
        poly::judge(schedule_.scop, order, environment_.quota));
  }

  /// A statement below updates along its innermost loop inside two others.
  bool has_product(LoopId loop) const {
    const size_t depth = *poly::depth_of(schedule_.order, loop);
    for (const StmtId id : poly::statements_below(schedule_.order, loop)) {
      const size_t rows = schedule_.order.rows[id.value].size();
      if (rows >= depth + 3 && strides_at(schedule_, {id}, rows - 1).writes_same_element)
        return true;
    }
    return false;
  }

  bool is_there(LoopId loop) const { return poly::find_node(schedule_.order, loop) != nullptr; }

  /// The choice of the rules, if there is one.
  bool take(LoopId loop, Phase phase) {
    const Site site(schedule_, loop, Around::Nothing, environment_);
    auto choice = choose(site, gpu_rules(), phase, planner());
    if (choice)
      schedule_ = std::move(choice->schedule);
    return choice.has_value();
  }

  /// For sites inside what a candidate made.
  Planner planner() {
    return [this](Schedule& schedule, Phase, LoopId loop, Around) {
      std::swap(schedule_, schedule);
      improve(loop);
      std::swap(schedule_, schedule);
    };
  }

  /// What is bound needs no more.
  void mark_blocks() {
    for (const LoopId loop : child_loops(schedule_.order.body))
      if (poly::is_block(schedule_.order[loop].marks.axis))
        done_.insert(loop);
  }

  /// Products of a few rows among what the loop holds. What is around them stays as it is when
  /// there is none.
  void plan_few_rows(LoopId loop) {
    if (!is_there(loop) || !has_update(loop))
      return;
    Schedule before = schedule_;
    const std::vector<StmtId> statements = poly::statements_below(schedule_.order, loop);
    distribute_all(schedule_, loop);
    bool is_bound = false;
    for (const StmtId id : statements) {
      const LoopId root = poly::path_of(schedule_.order, id).front();
      if (done_.contains(root) || !take(root, Phase::EarlyReductions))
        continue;
      is_bound = true;
      done_.insert(poly::path_of(schedule_.order, id).front());
    }
    if (!is_bound)
      schedule_ = std::move(before);
  }

  bool has_update(LoopId loop) const {
    const std::vector<StmtId> below = poly::statements_below(schedule_.order, loop);
    return std::any_of(below.begin(), below.end(), [&](StmtId id) {
      return schedule_.scop[id].text.op != scalar::ReduceOp::None;
    });
  }

  /// Each of its iterations is one row: all statements below have at most one loop more.
  bool is_over_rows(LoopId loop) const {
    const size_t depth = *poly::depth_of(schedule_.order, loop);
    const auto below = poly::statements_below(schedule_.order, loop);
    return std::all_of(below.begin(), below.end(), [&](const StmtId id) {
      return schedule_.order.rows[id.value].size() <= depth + 2;
    });
  }

  /// Nests over the same rows that follow each other become one, where the rows stay parallel.
  /// Iterations with more inside (channels of an image) are too few and too long for that.
  void join_rows() {
    std::optional<LoopId> last;
    for (const LoopId loop : child_loops(schedule_.order.body)) {
      if (done_.contains(loop) || !is_over_rows(loop) || !is_parallel(loop)) {
        last.reset();
        continue;
      }
      if (last) {
        const LoopName a = name(*last), b = name(loop);
        const StmtId inside = poly::statements_below(schedule_.order, *last).front();
        if (go({Fuse{a, b}, Parallel{a}})) {
          last = poly::path_of(schedule_.order, inside).front();
          // Only a question so far: the mark comes when all nests are together.
          schedule_.order[*last].marks.is_parallel = false;
          schedule_.applied.back() = Fuse{a, b};
          continue;
        }
      }
      last = loop;
    }
  }

  void improve(LoopId loop) {
    if (!take(loop, Phase::Nests))
      for (const LoopId child : child_loops(poly::find_node(schedule_.order, loop)->body))
        improve(child);
  }

  Schedule schedule_;
  const Environment& environment_;
  std::set<LoopId> done_;
};

} // namespace

namespace {

/// Temps that are filled with an image under a window, and are read where they stand.
struct WindowTemps {
  Schedule schedule; ///< without their statements
  std::vector<uint32_t> tensors;
};

WindowTemps without_windows(const Schedule& schedule, const Environment& environment) {
  WindowTemps made{schedule, {}};
  for (uint32_t t = 0; t < schedule.scop.tensors.size(); ++t) {
    const auto fill = window_fill(made.schedule.scop, t, false);
    if (fill &&
        apply_all(made.schedule, {Inline{made.schedule.scop[fill->statements.front()].text.name}},
                  environment))
      made.tensors.push_back(t);
  }
  return made;
}

/// All reads of them are by tensor cores, whose operands TMA brings.
bool are_read_by_collectives(const Schedule& schedule, const std::vector<uint32_t>& tensors) {
  for (const poly::Access& access : poly::accesses(schedule.scop)) {
    if (access.is_write || std::count(tensors.begin(), tensors.end(), access.tensor) == 0)
      continue;
    const std::vector<LoopId> path = poly::path_of(schedule.order, access.statement);
    if (std::none_of(path.begin(), path.end(),
                     [&](LoopId loop) { return !schedule.order[loop].marks.instruction.empty(); }))
      return false;
  }
  return true;
}

} // namespace

Schedule gpu_schedule(const Schedule& schedule, const Environment& environment) {
  const auto& statements = schedule.scop.statements;
  if (std::any_of(statements.begin(), statements.end(), [](const poly::ScopStatement& s) {
        return !s.is_removed && program::depends_on_data(s.text);
      })) {
    Schedule made = GpuPlanner(schedule, environment).bound();
    return is_legal(made, environment) ? made : schedule;
  }
  const WindowTemps windows = without_windows(schedule, environment);
  if (!windows.tensors.empty()) {
    Schedule made = GpuPlanner(windows.schedule, environment).run();
    if (are_read_by_collectives(made, windows.tensors) && is_legal(made, environment))
      return made;
  }
  Schedule made = GpuPlanner(schedule, environment).run();
  return is_legal(made, environment) ? made : schedule;
}

} // namespace kawara::schedule
