#include "schedule/auto/planned.h"

#include "schedule/auto/cost/order_cost.h"
#include "schedule/auto/cost/parallel_worth.h"
#include "schedule/auto/facts/distribution.h"
#include "schedule/auto/gpu_schedule.h"
#include "schedule/auto/indexed_schedule.h"
#include "schedule/auto/nest/gemv.h"
#include "schedule/auto/nest/isl_orders.h"
#include "schedule/auto/nest/outer_lanes.h"
#include "schedule/auto/nest/tall_reduction.h"
#include "schedule/auto/product/product.h"
#include "schedule/auto/rowwise/fuse_rows.h"
#include "schedule/auto/rowwise/one_pass.h"
#include "schedule/auto/rowwise/reduce_columns.h"
#include "schedule/auto/rule/choose.h"
#include "schedule/auto/rules.h"
#include "schedule/tree/extent.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

#include <set>

namespace kawara::schedule {

using poly::LoopId;
using poly::StmtId;

namespace {

/// Walks the nests of an order for a CPU, phase by phase, and lets the rules choose; nests that do
/// not stand alone are taken apart or brought together before. Every step is judged, a refused one
/// is left out.
class CpuPlanner {
public:
  CpuPlanner(Schedule schedule, const Environment& environment, std::set<LoopId> done = {})
      : schedule_(std::move(schedule)), environment_(environment), done_(std::move(done)) {}

  Schedule planned() {
    plan_chains();
    for (const LoopId loop : child_loops(schedule_.order.body))
      if (!done_.contains(loop) && !perfect_nest_at(schedule_.order, loop) &&
          !run_in_strips(loop, true) && gains_by_distribution(loop))
        distribute_all(schedule_, loop);
    plan_reductions(Phase::EarlyReductions);
    for (const LoopId loop : child_loops(schedule_.order.body))
      plan(Phase::Products, loop, Around::Nothing);
    plan_reductions(Phase::LateReductions);
    schedule_ = with_walked_columns(std::move(schedule_), done_, environment_);
    share_rows();
    for (const Phase phase : {Phase::Windows, Phase::Nests})
      for (const LoopId loop : child_loops(schedule_.order.body))
        plan(phase, loop, Around::Nothing);
    return schedule_;
  }

private:
  void plan_chains() {
    std::vector<LoopId> loops;
    do
      loops = child_loops(schedule_.order.body);
    while (!loops.empty() && take(loops.front(), Phase::Chains, Around::Nothing));
  }

  /// The loop is still there (it may have become part of another's plan), and nothing was made of
  /// it yet.
  bool is_open(LoopId loop) const {
    return !done_.contains(loop) && poly::find_node(schedule_.order, loop) != nullptr;
  }

  void plan(Phase phase, LoopId loop, Around around) {
    if (!is_open(loop))
      return;
    if (phase == Phase::Nests) {
      improve(loop, around);
      return;
    }
    // Where somebody asks why, what other nests get is tried as well.
    if (phase == Phase::Products && environment_.notes != nullptr &&
        product_at(schedule_, loop, environment_))
      CpuPlanner(schedule_, environment_).improve(loop, around);
    take(loop, phase, around);
  }

  /// The choice of the rules, if there is one.
  bool take(LoopId loop, Phase phase, Around around) {
    const size_t depth = *poly::depth_of(schedule_.order, loop);
    const Site site(schedule_, loop, around, environment_);
    auto choice = site.nest() || phase == Phase::Chains
                      ? choose(site, cpu_rules(), phase, planner())
                      : std::nullopt;
    if (!choice)
      return false;
    schedule_ = std::move(choice->schedule);
    if (phase != Phase::Nests)
      done_.insert(poly::path_of(schedule_.order, choice->covers.front())[depth]);
    return true;
  }

  /// For sites inside what a candidate made.
  Planner planner() {
    return [this](Schedule& schedule, Phase phase, LoopId loop, Around around) {
      std::swap(schedule_, schedule);
      plan(phase, loop, around);
      std::swap(schedule_, schedule);
    };
  }

  /// A tall reduction may stand in a loop with what begins it, which goes before.
  void plan_reductions(Phase phase) {
    for (const LoopId loop : child_loops(schedule_.order.body))
      if (!done_.contains(loop) && may_be_tall_reduction(schedule_, loop))
        plan_reduction(loop, phase);
  }

  void plan_reduction(LoopId loop, Phase phase) {
    const Schedule before = schedule_;
    const bool is_nest = perfect_nest_at(schedule_.order, loop).has_value();
    for (const LoopId part : is_nest ? std::vector{loop} : distribute_all(schedule_, loop))
      if (take(part, phase, Around::Nothing))
        return;
    schedule_ = before;
  }

  /// Nests that follow each other get one outermost loop where one iteration's rows then stay in
  /// the cache from nest to nest, and temps between them only one row. From the last nest
  /// backwards: what a nest makes is used by some nest after it, not always by the next.
  void share_rows() {
    const std::vector<LoopId> loops = child_loops(schedule_.order.body);
    std::optional<LoopId> next;
    bool is_shared = false;
    const auto finish = [&] {
      if (next && is_shared)
        finish_rows(*next);
      is_shared = false;
    };
    for (auto at = loops.rbegin(); at != loops.rend(); ++at) {
      const LoopId loop = *at;
      if (done_.contains(loop) || !is_parallel(loop)) {
        finish();
        next.reset();
        continue;
      }
      if (next && schedule::share_rows(schedule_, loop, *next, environment_)) {
        const LoopName a = name(loop), b = name(*next);
        const StmtId inside = poly::statements_below(schedule_.order, loop).front();
        if (try_all({Fuse{a, b}, Parallel{a}})) {
          next = poly::path_of(schedule_.order, inside).front();
          // Only a question so far: the mark comes when all nests are together.
          schedule_.order[*next].marks.is_parallel = false;
          schedule_.applied.back() = Fuse{a, b};
          is_shared = true;
          continue;
        }
      }
      finish();
      next = loop;
    }
    finish();
  }

  void finish_rows(LoopId loop) {
    done_.insert(loop);
    const auto inside = [&] { return child_loops(poly::find_node(schedule_.order, loop)->body); };
    for (const LoopId child : inside())
      plan(Phase::Windows, child, Around::Threads);
    for (const std::string& temp : temps_of(schedule_, loop))
      try_all({StoreAt{temp, name(loop)}});
    join_sums(loop);
    for (const LoopId child : inside())
      plan(Phase::Nests, child, Around::Threads);
    for (const std::string& tensor : rows_from_memory(schedule_, loop, environment_))
      try_all({Prefetch{tensor, name(loop), 1}});
    if (is_worth_threads(schedule_, loop, environment_))
      try_all({Parallel{name(loop)}});
  }

  /// Sums of what the loop before them makes are added up there, where both run in lanes.
  void join_sums(LoopId around) {
    const std::vector<LoopId> loops = child_loops(poly::find_node(schedule_.order, around)->body);
    for (size_t at = 0; at + 1 < loops.size(); ++at) {
      const Schedule before = schedule_;
      size_t last = at;
      while (last + 1 < loops.size() && !done_.contains(loops[last + 1]) &&
             sums_row_of(schedule_, loops[at], loops[last + 1], environment_) &&
             try_all({Fuse{name(loops[at]), name(loops[last + 1])}}))
        ++last;
      if (last == at || done_.contains(loops[at]))
        continue;
      improve(loops[at], Around::Threads);
      if (schedule_.order[loops[at]].marks.vector_width == 0)
        schedule_ = before;
      else
        done_.insert(loops[at]);
      at = last;
    }
  }

  bool is_parallel(LoopId loop) const {
    poly::Order order = schedule_.order;
    order[loop].marks.is_parallel = true;
    return std::holds_alternative<poly::Legal>(
        poly::judge(schedule_.scop, order, environment_.quota));
  }

  void improve(LoopId loop, Around around) {
    if (!is_open(loop))
      return;
    const auto nest = perfect_nest_at(schedule_.order, loop);
    if (nest && !writes_in_turn(schedule_, *nest)) {
      if (!stands_in_steps(loop, around) || !take(loop, Phase::Products, around))
        take(loop, Phase::Nests, around);
      return;
    }
    // A loop of one iteration keeps nothing together.
    if (nest || gains_by_distribution(loop) ||
        known_run(schedule_.scop, schedule_.order, loop) == 1) {
      const std::vector<LoopId> parts = distribute_all(schedule_, loop);
      if (parts.size() > 1) {
        for (const LoopId part : parts)
          improve(part, around);
        return;
      }
    }
    if (nest)
      take(loop, Phase::Nests, around);
    else
      improve_inside(loop, around);
  }

  bool gains_by_distribution(LoopId loop) const {
    return wants_distribution(schedule_, loop) ||
           hides_rows_of_a_kept_matrix(schedule_, loop, environment_);
  }

  /// Is the nest part of one step of a loop whose steps follow each other (a recurrent layer)? What
  /// such a step multiplies by is laid out before the loop, or once for all calls.
  bool stands_in_steps(LoopId loop, Around around) const {
    return around == Around::Nothing && *poly::depth_of(schedule_.order, loop) > 0;
  }

  /// Threads or strips of lanes along the loop, and what is in it by itself.
  void improve_inside(LoopId loop, Around around) {
    const bool may_be_parallel = around != Around::Threads;
    Schedule before = schedule_;
    const bool is_parallel = may_be_parallel && try_all({Parallel{name(loop)}});
    if (const auto stores = private_temps(schedule_, loop); !stores.empty())
      try_all(stores);
    for (const LoopId child : child_loops(poly::find_node(schedule_.order, loop)->body))
      improve(child, is_parallel ? Around::Threads : around);
    if (may_be_parallel && !runs_in_lanes(schedule_.order, loop)) {
      std::swap(schedule_, before);
      if (!run_in_strips(loop, false))
        std::swap(schedule_, before);
    }
  }

  bool run_in_strips(LoopId loop, bool takes_steps) {
    auto strips = in_strips(schedule_, loop, environment_, takes_steps);
    if (strips) {
      schedule_ = std::move(strips->schedule);
      done_.insert(strips->outermost);
    }
    return strips.has_value();
  }

  LoopName name(LoopId loop) const { return name_of_loop(schedule_.scop, schedule_.order, loop); }

  bool try_all(const std::vector<Directive>& plan) {
    return apply_all(schedule_, plan, environment_);
  }

  Schedule schedule_;
  const Environment& environment_;
  std::set<LoopId> done_; ///< outermost loops that need no more
};

Schedule improved(Schedule start, const Environment& environment) {
  return CpuPlanner(std::move(start), environment).planned();
}

} // namespace

Schedule planned(const Schedule& schedule, const Environment& environment) {
  if (environment.gpu) {
    return gpu_schedule(schedule, environment);
  }
  if (auto indexed = indexed_schedule(schedule, environment))
    return *std::move(indexed);
  if (auto chain = one_pass(schedule, environment)) {
    Schedule whole =
        CpuPlanner(std::move(chain->schedule), environment, std::move(chain->done)).planned();
    if (is_legal(whole, environment)) {
      return whole;
    }
  }
  Schedule best = improved(schedule, environment);
  if (!is_legal(best, environment))
    best = schedule;
  for (const bool prefers_parallel : {true, false}) {
    if (has_packed(best))
      break;
    const auto fused = fused_schedule(schedule, prefers_parallel, environment);
    if (!fused)
      continue;
    Schedule other = improved(*fused, environment);
    if (estimated_cost(other, environment) < estimated_cost(best, environment) &&
        is_legal(other, environment))
      best = std::move(other);
  }
  return best;
}

} // namespace kawara::schedule
