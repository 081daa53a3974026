#include "schedule/auto/gpu/gpu.h"

#include "schedule/attempt.h"
#include "schedule/auto/facts/distribution.h"
#include "schedule/auto/gpu/plan.h"
#include "schedule/buffers/window_fill.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

#include <algorithm>
#include <bit>
#include <set>

namespace kawara::schedule {
namespace {

using poly::Axis;
using poly::LoopId;
using poly::StmtId;
using poly::TreeNode;

std::vector<LoopId> loops_in(const std::vector<TreeNode>& body) {
  std::vector<LoopId> loops;
  for (const TreeNode& node : body)
    if (node.is_loop())
      loops.push_back(node.loop());
  return loops;
}

/// Sums of fewer terms stay with one thread.
constexpr int64_t kSumForThreads = 256;
/// From here on one block is too slow: it reads about 100 GB/s, and another launch takes a
/// microsecond.
constexpr int64_t kSumForBlocks = 1 << 15;
/// Terms of a block's part.
constexpr int64_t kLeastSumOfBlock = 4096;

class GpuScheduler {
public:
  GpuScheduler(Schedule schedule, const Environment& environment)
      : schedule_(std::move(schedule)), environment_(environment) {}

  /// Loops to blocks and threads alone: what is not known of elements nothing else is done with.
  Schedule bound() {
    for (const LoopId loop : loops_in(schedule_.order.body))
      improve(loop);
    return std::move(schedule_);
  }

  Schedule run() {
    if (bind_chain(schedule_, environment_))
      for (const LoopId loop : loops_in(schedule_.order.body))
        if (poly::is_block(schedule_.order[loop].marks.axis))
          done_.insert(loop);
    for (const LoopId loop : loops_in(schedule_.order.body))
      if (!done_.contains(loop))
        skinny(loop);
    for (const LoopId loop : loops_in(schedule_.order.body))
      if (!done_.contains(loop) && has_product(loop))
        distribute_all(schedule_, loop);
    for (const LoopId loop : loops_in(schedule_.order.body))
      if (!done_.contains(loop))
        product(loop);
    join_rows();
    for (const LoopId loop : loops_in(schedule_.order.body))
      if (!done_.contains(loop))
        improve(loop);
    return std::move(schedule_);
  }

private:
  LoopName name(LoopId loop) const { return name_of_loop(schedule_.scop, schedule_.order, loop); }
  bool go(const std::vector<Directive>& plan) { return try_plan(schedule_, plan, environment_); }

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

  /// Products of a few rows among what the loop holds. What is around them stays as it is when
  /// there is none.
  void skinny(LoopId loop) {
    if (!is_there(loop) || !has_update(loop))
      return;
    Schedule before = schedule_;
    const std::vector<StmtId> statements = poly::statements_below(schedule_.order, loop);
    distribute_all(schedule_, loop);
    bool is_bound = false;
    for (const StmtId id : statements) {
      const LoopId root = poly::path_of(schedule_.order, id).front();
      const auto nest = perfect_nest_at(schedule_.order, root);
      const auto found =
          nest && !done_.contains(root) ? skinny_of(schedule_, *nest, environment_) : std::nullopt;
      if (!found)
        continue;
      const auto [first, last] = fused_nests_around(root, [&](const Nest& other) {
        return fused_nest_of(schedule_, other, found->nest, found->result_loops());
      });
      const uint32_t result = schedule_.scop[id].text.tensor;
      if (!bind_skinny(schedule_, *found, first, last, environment_))
        continue;
      is_bound = true;
      done_.insert(poly::path_of(schedule_.order, id).front());
      keep_result(id, result);
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

  using FusedNests = std::pair<std::vector<FusedNest>, std::vector<FusedNest>>;

  /// Nests directly before and after a root loop that work on its results.
  template <class Find> FusedNests fused_nests_around(LoopId loop, const Find& find) const {
    FusedNests found;
    const std::vector<LoopId> loops = loops_in(schedule_.order.body);
    const auto at = std::find(loops.begin(), loops.end(), loop);
    const auto fused_nest = [&](LoopId other) -> std::optional<FusedNest> {
      const auto own = perfect_nest_at(schedule_.order, other);
      return own && !done_.contains(other) ? find(*own) : std::nullopt;
    };
    if (at != loops.begin())
      if (const auto c = fused_nest(*(at - 1)))
        found.first.push_back(*c);
    for (auto next = at + 1; next != loops.end(); ++next) {
      const auto c = fused_nest(*next);
      if (!c)
        break;
      found.second.push_back(*c);
    }
    return found;
  }

  void product(LoopId loop) {
    if (poly::find_node(schedule_.order, loop) == nullptr)
      return;
    const auto nest = perfect_nest_at(schedule_.order, loop);
    const auto found = nest ? product_of(schedule_, *nest, facts_of(schedule_, *nest), environment_)
                            : std::nullopt;
    if (!found)
      return;
    auto [before, after] = fused_nests_around(
        loop, [&](const Nest& other) { return fused_nest_of(schedule_, other, *found); });
    if (const auto part = part_of_reduction(schedule_, *found, environment_)) {
      if (bind_product_in_parts(schedule_, *found, *part, before, after, environment_)) {
        for (const LoopId root : loops_in(schedule_.order.body))
          if (poly::is_block(schedule_.order[root].marks.axis))
            done_.insert(root);
        return;
      }
    }
    for (const bool has_fused_nests : {true, false}) {
      if (!has_fused_nests) {
        before.clear();
        after.clear();
      }
      if (bind_product(schedule_, *found, before, after, environment_)) {
        const LoopId root = poly::path_of(schedule_.order, found->update()).front();
        done_.insert(root);
        keep_result(found->update(), found->result);
        return;
      }
    }
  }

  /// A temp that only this launch touches stays with its threads.
  void keep_result(StmtId update, uint32_t tensor) {
    const program::Tensor& result = schedule_.scop.tensors[tensor];
    if (result.role != program::Role::Temp)
      return;
    const std::vector<LoopId> path = poly::path_of(schedule_.order, update);
    std::optional<LoopId> inner;
    for (const LoopId loop : path)
      if (poly::is_block(schedule_.order[loop].marks.axis))
        inner = loop;
    if (inner)
      go({StoreAt{result.name, {schedule_.scop[update].text.name, schedule_.order[*inner].name}}});
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
    for (const LoopId loop : loops_in(schedule_.order.body)) {
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

  /// One sum over a loop that nothing stands around: blocks add up parts of a long one, the threads
  /// of a block the rest.
  bool bind_sum(const Nest& nest, const NestFacts& facts) {
    const int64_t extent = facts.extents[0];
    const StmtId sum = nest.statements.front();
    const std::string j = schedule_.order[nest.loops[0]].name;
    const LoopName whole{schedule_.scop[sum].text.name, j};
    if (extent < kSumForThreads || nest.statements.size() != 1)
      return false;
    const auto known = static_cast<uint32_t>(schedule_.scop.statements.size());
    const int64_t part = std::max(kLeastSumOfBlock, extent / environment_.gpu->multiprocessors + 1);
    if (extent >= kSumForBlocks && go({Split{whole, part}, Rfactor{{whole.statement, j + ".0"}}})) {
      for (const LoopId loop : loops_in(schedule_.order.body)) {
        const StmtId inside = poly::statements_below(schedule_.order, loop).front();
        if (inside == sum || inside.value >= known)
          improve(loop);
      }
      return true;
    }
    const auto groups = static_cast<uint64_t>(extent / 4);
    const auto threads =
        std::clamp<int64_t>(static_cast<int64_t>(std::bit_floor(groups)), 32, 1024);
    GpuPlan plan(*whole.statement);
    plan.split(j, threads);
    plan.reorder({j + ".1", j + ".0"});
    plan.bind(j + ".1", Axis::ThreadX);
    return attempt(schedule_, plan.list(), environment_, "sum by the threads of a block", {sum});
  }

  void improve(LoopId loop) {
    if (const auto nest = perfect_nest_at(schedule_.order, loop)) {
      const NestFacts facts = facts_of(schedule_, *nest);
      const bool reduces_rows = nest->loops.size() == 2 && facts.is_parallel[0] &&
                                facts.is_reduction[1] && facts.extents[1] >= 32;
      if (reduces_rows && bind_rows(schedule_, loop, environment_))
        return;
      if (nest->depth == 0 && nest->loops.size() == 1 && facts.is_reduction[0] &&
          bind_sum(*nest, facts))
        return;
      if (bind_transpose(schedule_, *nest, environment_))
        return;
      if (bind_map(schedule_, *nest, environment_))
        return;
    } else if (is_parallel(loop)) {
      if (bind_rows(schedule_, loop, environment_))
        return;
      const LoopName whole = name(loop);
      const LoopName tiles{whole.statement, whole.loop + ".0"},
          points{whole.statement, whole.loop + ".1"};
      if (go({Split{whole, 128}, Bind{tiles, Axis::BlockX}, Bind{points, Axis::ThreadX}}))
        return;
    }
    for (const LoopId child : loops_in(poly::find_node(schedule_.order, loop)->body))
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
        try_plan(made.schedule, {Inline{made.schedule.scop[fill->statements.front()].text.name}},
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
    Schedule made = GpuScheduler(schedule, environment).bound();
    const bool is_fine =
        std::holds_alternative<poly::Legal>(poly::judge(made.scop, made.order, environment.quota));
    return is_fine ? made : schedule;
  }
  const WindowTemps windows = without_windows(schedule, environment);
  if (!windows.tensors.empty()) {
    Schedule made = GpuScheduler(windows.schedule, environment).run();
    if (are_read_by_collectives(made, windows.tensors) &&
        std::holds_alternative<poly::Legal>(poly::judge(made.scop, made.order, environment.quota)))
      return made;
  }
  Schedule made = GpuScheduler(schedule, environment).run();
  const bool is_legal =
      std::holds_alternative<poly::Legal>(poly::judge(made.scop, made.order, environment.quota));
  return is_legal ? made : schedule;
}

} // namespace kawara::schedule
