#include "schedule/auto_gpu.h"

#include "schedule/auto_distribute.h"
#include "schedule/gpu_plan.h"
#include "schedule/nest.h"
#include "schedule/resolve.h"

#include <algorithm>
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

class GpuScheduler {
public:
  GpuScheduler(Schedule schedule, const Environment& environment)
      : schedule_(std::move(schedule)), environment_(environment) {}

  Schedule run() {
    if (bind_chain(schedule_, environment_))
      for (const LoopId loop : loops_in(schedule_.order.body))
        if (poly::is_block(schedule_.order[loop].marks.axis))
          done_.insert(loop);
    for (const LoopId loop : loops_in(schedule_.order.body))
      if (!done_.contains(loop) && has_product(loop))
        distribute(loop);
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
      if (rows >= depth + 3 &&
          strides_of(schedule_.scop, schedule_.order, {id}, rows - 1).writes_same_cell)
        return true;
    }
    return false;
  }

  void distribute(LoopId loop) {
    for (const LoopId child : loops_in(poly::find_node(schedule_.order, loop)->body))
      distribute(child);
    schedule_.order = distributed_at(schedule_.scop, schedule_.order, loop).order;
  }

  void product(LoopId loop) {
    if (poly::find_node(schedule_.order, loop) == nullptr)
      return;
    const auto nest = perfect_nest_at(schedule_.order, loop);
    const auto found = nest ? product_of(schedule_, *nest, facts_of(schedule_, *nest), environment_)
                            : std::nullopt;
    if (!found)
      return;
    std::vector<Companion> before, after;
    const std::vector<LoopId> loops = loops_in(schedule_.order.body);
    const auto at = std::find(loops.begin(), loops.end(), loop);
    const auto companion = [&](LoopId other) -> std::optional<Companion> {
      const auto own = perfect_nest_at(schedule_.order, other);
      return own ? companion_of(schedule_, *own, *found) : std::nullopt;
    };
    if (at != loops.begin())
      if (const auto c = companion(*(at - 1)))
        before.push_back(*c);
    for (auto next = at + 1; next != loops.end(); ++next) {
      const auto c = companion(*next);
      if (!c)
        break;
      after.push_back(*c);
    }
    for (const bool has_company : {true, false}) {
      if (!has_company) {
        before.clear();
        after.clear();
      }
      if (bind_product(schedule_, *found, before, after, environment_)) {
        const LoopId root = poly::path_of(schedule_.order, found->update()).front();
        done_.insert(root);
        keep_result(*found);
        return;
      }
    }
  }

  /// A temp that only this launch touches stays with its threads.
  void keep_result(const Product& product) {
    const program::Tensor& result = schedule_.scop.tensors[product.result];
    if (result.role != program::Role::Temp)
      return;
    std::vector<LoopId> path = poly::path_of(schedule_.order, product.update());
    std::optional<LoopId> inner;
    for (const LoopId loop : path)
      if (poly::is_block(schedule_.order[loop].marks.axis))
        inner = loop;
    if (inner)
      go({StoreAt{result.name,
                  {schedule_.scop[product.update()].text.name, schedule_.order[*inner].name}}});
  }

  /// Nests over the same rows that follow each other become one, where the rows stay parallel.
  void join_rows() {
    std::optional<LoopId> last;
    for (const LoopId loop : loops_in(schedule_.order.body)) {
      if (done_.contains(loop) || !is_parallel(loop)) {
        last.reset();
        continue;
      }
      if (last) {
        const LoopName a = name(*last);
        const StmtId inside = poly::statements_below(schedule_.order, *last).front();
        if (go({Fuse{a, name(loop)}, Parallel{a}})) {
          last = poly::path_of(schedule_.order, inside).front();
          schedule_.order[*last].marks.is_parallel = false;
          continue;
        }
      }
      last = loop;
    }
  }

  void improve(LoopId loop) {
    if (const auto nest = perfect_nest_at(schedule_.order, loop)) {
      const NestFacts facts = facts_of(schedule_, *nest);
      const bool reduces_rows = nest->loops.size() == 2 && facts.is_parallel[0] &&
                                facts.is_reduction[1] && facts.extents[1] >= 32;
      if (reduces_rows && bind_rows(schedule_, loop, environment_))
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

Schedule gpu_schedule(const Schedule& schedule, const Environment& environment) {
  Schedule made = GpuScheduler(schedule, environment).run();
  const bool is_legal =
      std::holds_alternative<poly::Legal>(poly::judge(made.scop, made.order, environment.quota));
  return is_legal ? made : schedule;
}

} // namespace kawara::schedule
