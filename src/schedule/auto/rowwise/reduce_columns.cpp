#include "schedule/auto/rowwise/reduce_columns.h"

#include "scalar/loads.h"
#include "schedule/auto/facts/dataflow.h"
#include "schedule/auto/facts/vector_loop.h"
#include "schedule/auto/rowwise/fuse_rows.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/solve_iterators.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;
using poly::StmtId;

namespace {

std::optional<uint32_t> iterator_of_loop(const Schedule& schedule, const Nest& nest, size_t k) {
  const auto* it =
      scalar::as<scalar::Iter>(schedule.order.rows[nest.statements.front().value][nest.depth + k]);
  return it != nullptr ? std::optional(it->index) : std::nullopt;
}

bool is_iterator(const scalar::Expr& e, uint32_t iterator) {
  const auto* it = scalar::as<scalar::Iter>(e);
  return it != nullptr && it->index == iterator;
}

/// Rows and columns of a load are dimensions of their own, the columns' the last.
bool has_whole_columns(const scalar::Load& load, uint32_t row, uint32_t column) {
  return load.index.size() > 1 && is_iterator(load.index.back(), column) &&
         std::all_of(load.index.begin(), load.index.end() - 1, [&](const scalar::Expr& e) {
           return is_iterator(e, row) || !mentions_iterator(e, row);
         });
}

/// Does a statement make elements from the tensor's, or the tensor's from others?
bool is_mapped(const Schedule& schedule, const TensorFlow& flow) {
  const auto maps = [&](StmtId id) {
    const program::Statement& text = schedule.scop[id].text;
    return text.op == scalar::ReduceOp::None && !scalar::loads_in(text.value).empty();
  };
  return std::any_of(flow.writers.begin(), flow.writers.end(), maps) ||
         std::any_of(flow.readers.begin(), flow.readers.end(), maps);
}

/// Is an exponential taken of something and this tensor?
bool is_in_exponential(const Schedule& schedule, const TensorFlow& flow, uint32_t tensor) {
  bool found = false;
  for (const StmtId id : flow.readers)
    scalar::visit(schedule.scop[id].text.value, [&](const scalar::Expr& e) {
      const auto* function = scalar::as<scalar::Unary>(e);
      if (function == nullptr || function->op != scalar::UnaryOp::Exp)
        return;
      found = found || scalar::reads(function->arg, tensor);
    });
  return found;
}

std::vector<LoopName> names_of(const Schedule& schedule, const Nest& nest) {
  std::vector<LoopName> names;
  for (const LoopId loop : nest.loops)
    names.push_back({schedule.scop[nest.statements.front()].text.name, schedule.order[loop].name});
  return names;
}

/// Loops in the order that walks along rows; nothing where that is the order in force.
std::optional<Reorder> along_rows(const Schedule& schedule, const Nest& nest,
                                  const ColumnSums& columns) {
  const std::vector<LoopName> names = names_of(schedule, nest);
  Reorder order;
  for (size_t k = 0; k < names.size(); ++k)
    if (k != columns.sum && k != columns.lanes)
      order.loops.push_back(names[k]);
  order.loops.push_back(names[columns.sum]);
  order.loops.push_back(names[columns.lanes]);
  const bool is_same = columns.sum + 2 == names.size() && columns.lanes + 1 == names.size();
  return is_same ? std::nullopt : std::optional(order);
}

/// Threads find something to share besides the rows, which carry the sums.
bool keeps_threads_busy(const NestFacts& facts, const ColumnSums& columns, int64_t cores) {
  if (cores == 1 || facts.extents[columns.lanes] >= kLongLanes)
    return true;
  for (size_t k = 0; k < facts.extents.size(); ++k)
    if (k != columns.sum && k != columns.lanes && facts.extents[k] >= cores)
      return true;
  return false;
}

/// All loops of the two nests become one.
std::vector<Directive> joined(const Schedule& schedule, const Nest& maker, const Nest& sum) {
  std::vector<Directive> plan;
  const std::vector<LoopName> a = names_of(schedule, maker), b = names_of(schedule, sum);
  for (size_t k = 0; k < a.size(); ++k)
    plan.emplace_back(Fuse{a[k], b[k]});
  return plan;
}

} // namespace

std::optional<ColumnSums> column_sums(const Schedule& schedule, const Nest& nest,
                                      const NestFacts& facts) {
  const program::Statement& text = schedule.scop[nest.statements.front()].text;
  if (nest.statements.size() != 1 || facts.fixed != 0 || text.op == scalar::ReduceOp::None)
    return std::nullopt;
  std::optional<size_t> sum, lanes;
  for (size_t k = 0; k < nest.loops.size(); ++k) {
    if (facts.strides[k].writes_same_element) {
      if (sum)
        return std::nullopt;
      sum = k;
    } else if (facts.is_parallel[k] && facts.strides[k].far == 0 && facts.strides[k].unit > 0)
      lanes = k;
  }
  const auto row = sum ? iterator_of_loop(schedule, nest, *sum) : std::nullopt;
  const auto column = lanes ? iterator_of_loop(schedule, nest, *lanes) : std::nullopt;
  if (!row || !column)
    return std::nullopt;
  const Dataflow flow(schedule.scop);
  bool has_columns = false, has_others = false;
  scalar::visit(text.value, [&](const scalar::Expr& e) {
    const auto* load = scalar::as<scalar::Load>(e);
    if (load == nullptr ||
        std::none_of(load->index.begin(), load->index.end(),
                     [&](const scalar::Expr& at) { return mentions_iterator(at, *row); }))
      return;
    if (!has_whole_columns(*load, *row, *column))
      has_others = true;
    else
      has_columns = has_columns || is_mapped(schedule, flow[load->tensor]);
  });
  if (!has_columns || has_others)
    return std::nullopt;
  const bool bounds = text.op == scalar::ReduceOp::Max &&
                      is_in_exponential(schedule, flow[text.tensor], text.tensor);
  return ColumnSums{*sum, *lanes, bounds};
}

Schedule with_walked_columns(Schedule schedule, const std::set<LoopId>& done,
                             const Environment& environment) {
  const auto nest_at = [&](LoopId loop) {
    return done.contains(loop) ? std::nullopt : perfect_nest_at(schedule.order, loop);
  };
  const auto take = [&](const std::vector<Directive>& plan) {
    auto result = apply(schedule, Group{plan}, environment);
    if (!result)
      return false;
    schedule = *std::move(result);
    return true;
  };
  std::vector<LoopId> sums;
  for (const LoopId loop : child_loops(schedule.order.body)) {
    const auto nest = nest_at(loop);
    if (!nest)
      continue;
    const NestFacts facts = facts_of(schedule, *nest);
    const auto columns = column_sums(schedule, *nest, facts);
    if (!columns)
      continue;
    const StmtId update = nest->statements.front();
    if (const auto order = along_rows(schedule, *nest, *columns); order && !take({*order}))
      continue;
    if (schedule.scop[update].text.op == scalar::ReduceOp::Sum &&
        keeps_threads_busy(facts, *columns, environment.cpu.cores))
      sums.push_back(poly::path_of(schedule.order, update).front());
  }
  for (const LoopId sum : sums)
    for (const LoopId maker : child_loops(schedule.order.body)) {
      const auto a = nest_at(maker), b = nest_at(sum);
      if (maker == sum)
        break;
      if (a && b && sums_elements_of(schedule, *a, *b) && take(joined(schedule, *a, *b)))
        break;
    }
  return schedule;
}

} // namespace kawara::schedule
