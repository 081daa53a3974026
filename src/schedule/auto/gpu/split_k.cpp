#include "schedule/auto/gpu/plan.h"

#include "schedule/attempt.h"
#include "schedule/tree/arrangement.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

using poly::Axis;
using poly::LoopId;
using poly::StmtId;
using poly::TreeNode;

constexpr int64_t kThreadsOfSums = 128;
constexpr int64_t kMostRows = 65535; ///< of a grid in y

LoopId root_loop_of(const Schedule& schedule, StmtId id) {
  return poly::path_of(schedule.order, id).front();
}

/// Moves the nest of `what`, as a whole, to directly before the nest of `where`.
void move_before(poly::Order& order, LoopId what, LoopId where) {
  const auto place = [&](LoopId loop) {
    return std::find_if(order.body.begin(), order.body.end(), [&](const TreeNode& node) {
      return node.is_loop() && node.loop() == loop;
    });
  };
  TreeNode moved = *place(what);
  order.body.erase(place(what));
  order.body.insert(place(where), std::move(moved));
}

/// Sums of the parts of each element, with what comes before and after: a thread for some
/// neighbouring elements.
class SumsPlanner {
public:
  SumsPlanner(const Schedule& schedule, int64_t lanes) : schedule_(schedule) {
    while (width_ > 1 && lanes % width_ != 0)
      width_ /= 2;
  }

  /// `parts`: the loop over parts; empty for what touches each element once.
  void add(StmtId id, const std::string& rows, const std::string& lanes, const std::string& parts) {
    GpuPlan plan(schedule_.scop[id].text.name);
    plan.split(lanes, kThreadsOfSums * width_);
    plan.split(lanes + ".1", width_);
    std::vector<std::string> order = {rows, lanes + ".0", lanes + ".1.0"};
    if (!parts.empty())
      order.push_back(parts);
    order.push_back(lanes + ".1.1");
    plan.reorder(order);
    plan.bind(lanes + ".1.0", Axis::ThreadX);
    if (!parts.empty())
      plan.unroll(parts);
    if (width_ > 1)
      plan.vectorize(lanes + ".1.1", width_);
    plan_.insert(plan_.end(), plan.list().begin(), plan.list().end());
    const LoopName own_rows = plan.loop(rows), own_lanes = plan.loop(lanes + ".0");
    if (first_.empty()) {
      first_ = {own_rows, own_lanes};
      return;
    }
    plan_.emplace_back(Fuse{first_[0], own_rows});
    plan_.emplace_back(Fuse{first_[1], own_lanes});
  }

  std::vector<Directive> plan() {
    plan_.emplace_back(Bind{first_[0], Axis::BlockY});
    plan_.emplace_back(Bind{first_[1], Axis::BlockX});
    return std::move(plan_);
  }

private:
  const Schedule& schedule_;
  int64_t width_ = 4;
  std::vector<LoopName> first_; ///< shared loops of the first statement
  std::vector<Directive> plan_;
};

} // namespace

bool bind_product_in_parts(Schedule& schedule, const Product& product, int64_t part,
                           const std::vector<FusedNest>& before,
                           const std::vector<FusedNest>& after, const Environment& environment) {
  if (!product.outer.empty() || product.extents[product.rows] > kMostRows)
    return false;
  Schedule trial = schedule;
  const auto loop_name = [&](size_t position) {
    return schedule.order[product.nest.loops[position]].name;
  };
  const size_t stepped =
      *std::max_element(product.depth.begin(), product.depth.end(), [&](size_t a, size_t b) {
        return product.extents[a] < product.extents[b];
      });
  const std::string i = loop_name(product.rows), j = loop_name(product.lanes),
                    k = loop_name(stepped);
  const uint32_t number = static_cast<uint32_t>(schedule.scop.statements.size());
  const StmtId update = product.update(), combine{number}, start{number + 1};
  GpuPlan parts(schedule.scop[update].text.name), begin("S" + std::to_string(number + 1));
  parts.split(k, part);
  parts.add(Rfactor{parts.loop(k + ".0")});
  std::vector<std::string> order = {k + ".0", i, j};
  for (const size_t d : product.depth)
    if (d != stepped)
      order.push_back(loop_name(d));
  order.push_back(k + ".1");
  parts.reorder(order);
  begin.reorder({k + ".0", i, j});
  std::vector<Directive> plan = parts.list();
  plan.insert(plan.end(), begin.list().begin(), begin.list().end());
  if (!attempt(trial, plan, environment, "product with a split reduction", {update}))
    return false;
  // Results begin when their parts are known.
  poly::Order moved = trial.order;
  for (const FusedNest& c : before)
    move_before(moved, root_loop_of(trial, c.statement), root_loop_of(trial, combine));
  if (const auto step = arrangement_of(trial.scop, trial.order, moved); step && !before.empty())
    trial.applied.push_back(*step);
  trial.order = std::move(moved);
  const auto nest = perfect_nest_at(trial.order, root_loop_of(trial, update));
  const auto start_nest = perfect_nest_at(trial.order, root_loop_of(trial, start));
  const auto found =
      nest ? product_of(trial, *nest, facts_of(trial, *nest), environment) : std::nullopt;
  const auto first = found && start_nest ? fused_nest_of(trial, *start_nest, *found) : std::nullopt;
  if (!first || !bind_product(trial, *found, {*first}, {}, environment))
    return false;
  SumsPlanner sums(trial, product.extents[product.lanes]);
  const auto add = [&](const FusedNest& c) {
    const auto name = [&](LoopId loop) { return trial.order[loop].name; };
    sums.add(c.statement, name(c.loops.back()), name(c.loops[c.loops.size() - 2]), "");
  };
  std::for_each(before.begin(), before.end(), add);
  sums.add(combine, i, j, k + ".0");
  std::for_each(after.begin(), after.end(), add);
  if (!try_plan(trial, sums.plan(), environment))
    return false;
  const program::Tensor& result = trial.scop.tensors[product.result];
  const std::string name = trial.scop[combine].text.name;
  if (result.role == program::Role::Temp)
    try_plan(trial, {StoreAt{result.name, {name, j + ".0"}}}, environment);
  schedule = std::move(trial);
  return true;
}

} // namespace kawara::schedule
