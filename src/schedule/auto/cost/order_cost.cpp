#include "schedule/auto/cost/order_cost.h"

#include "schedule/auto/facts/nest_facts.h"
#include "schedule/tree/extent.h"

#include <algorithm>
#include <set>

namespace kawara::schedule {

using poly::LoopId;
using poly::StmtId;
using poly::TreeNode;

namespace {

/// What bringing in an element costs beside a unit-stride access to a near one, when its tensor
/// does not stay in the L2 from one nest to the next.
constexpr double kMemoryWeight = 1.0;

double extent_of(const Schedule& schedule, LoopId loop) {
  const auto run = known_run(schedule.scop, schedule.order, loop);
  return static_cast<double>(run.value_or(kUnknownExtent));
}

/// What the accesses of one instance cost on average: by how they move along the innermost loop,
/// less where an unrolled loop around keeps them in a register.
double access_cost(const Schedule& schedule, StmtId id, const std::vector<LoopId>& path) {
  const AccessTable table = access_table(schedule.scop, schedule.order, id);
  size_t row = path.size() - 1;
  std::vector<double> cost;
  for (const LoopAccess& access : table) {
    const Move move = access.moves[row];
    cost.push_back(move == Move::None ? 0.25 : move == Move::Unit ? 1.0 : 6.0);
  }
  while (row-- > 0) {
    const bool is_unrolled = schedule.order[path[row]].marks.unroll == poly::kFullUnroll;
    for (size_t k = 0; k < table.size(); ++k)
      if (table[k].stays(row) && (is_unrolled || table[k].is_write))
        cost[k] /= std::min(8.0, extent_of(schedule, path[row]));
    if (!is_unrolled)
      break;
  }
  double sum = 0;
  for (const double c : cost)
    sum += c;
  return sum / (schedule.order[path.back()].marks.vector_width > 0 ? 3.0 : 1.0);
}

/// Iterations times what one costs.
double statement_cost(const Schedule& schedule, StmtId id, const Environment& environment) {
  const std::vector<LoopId> path = poly::path_of(schedule.order, id);
  bool is_parallel = false;
  for (const LoopId loop : path)
    is_parallel = is_parallel || schedule.order[loop].marks.is_parallel;
  // Counted in the source order: the same for every order of the program.
  double iterations = 1;
  for (const LoopId loop : poly::path_of(schedule.scop.source_order, id))
    iterations *= static_cast<double>(
        known_run(schedule.scop, schedule.scop.source_order, loop).value_or(kUnknownExtent));
  const double cost = path.empty() ? 1 : access_cost(schedule, id, path);
  return iterations * cost / (is_parallel ? static_cast<double>(environment.cpu.cores) : 1.0);
}

/// Elements that the statements of a top nest touch, counted once a tensor.
double traffic(const Schedule& schedule, const TreeNode& top, const Environment& environment) {
  std::set<uint32_t> tensors;
  for (const StmtId id : poly::statements_below(top)) {
    tensors.insert(schedule.scop[id].text.tensor);
    scalar::visit(schedule.scop[id].text.value, [&](const scalar::Expr& e) {
      if (const auto* load = scalar::as<scalar::Load>(e))
        tensors.insert(load->tensor);
    });
  }
  double elements = 0;
  for (const uint32_t t : tensors) {
    double count = 1;
    for (const scalar::Expr& extent : schedule.scop.tensors[t].shape)
      count *= static_cast<double>(
          scalar::constant_of(scalar::simplify(extent)).value_or(kUnknownExtent));
    const double bytes =
        count * static_cast<double>(scalar::bytes_of(schedule.scop.tensors[t].elem));
    if (bytes > static_cast<double>(environment.cpu.caches.l2))
      elements += count;
  }
  return elements;
}

} // namespace

double estimated_cost(const Schedule& schedule, const Environment& environment) {
  double cost = 0;
  for (uint32_t s = 0; s < schedule.scop.statements.size(); ++s)
    if (!schedule.scop.statements[s].is_removed)
      cost += statement_cost(schedule, StmtId{s}, environment);
  for (const TreeNode& top : schedule.order.body)
    cost += kMemoryWeight * traffic(schedule, top, environment);
  return cost;
}

} // namespace kawara::schedule
