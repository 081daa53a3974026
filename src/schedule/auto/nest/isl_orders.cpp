#include "schedule/auto/nest/isl_orders.h"

#include "poly/legality/scheduled.h"
#include "schedule/auto/facts/nest_facts.h"
#include "schedule/tree/arrangement.h"

#include <algorithm>

namespace kawara::schedule {

using poly::Order;
using poly::StmtId;

namespace {

/// isl's scheduler is asked for orders that bring nests together; it may take this many operations.
/// One of them can be a pivot of a whole table, of numbers that grow with each: of 100,000 the last
/// half took 28 s. The orders that are worth having take less than 40,000.
constexpr unsigned long kSchedulerQuota = 40'000;

/// Several nests, few enough statements and loops that the scheduler answers in a fraction of a
/// second: with the six loops of a convolution it takes minutes, whatever its quota.
bool may_fuse(const Schedule& schedule) {
  constexpr size_t kFewStatements = 4, kFewLoops = 4;
  const auto& statements = schedule.scop.statements;
  return schedule.order.body.size() > 1 && statements.size() <= kFewStatements &&
         std::all_of(statements.begin(), statements.end(),
                     [](const poly::ScopStatement& s) { return s.text.iters.size() <= kFewLoops; });
}

/// Every row is an iterator plus a constant. Skewed orders, and statements that run in one
/// iteration of a loop only, cost more in loop bounds than they gain here.
bool is_plain(const poly::Scop& scop, const Order& order) {
  for (uint32_t s = 0; s < scop.statements.size(); ++s)
    for (size_t row = 0; row < order.rows[s].size(); ++row)
      if (!is_plain_row(scop, order, StmtId{s}, row))
        return false;
  return true;
}

bool is_same_statement(const poly::ScopStatement& a, const poly::ScopStatement& b) {
  const auto& left = a.text.index;
  const auto& right = b.text.index;
  return a.is_removed == b.is_removed && a.text.tensor == b.text.tensor &&
         std::equal(left.begin(), left.end(), right.begin(), right.end(), scalar::equal) &&
         scalar::equal(a.text.value, b.text.value);
}

} // namespace

std::optional<Schedule> fused_schedule(const Schedule& schedule, bool prefers_parallel,
                                       const Environment& environment) {
  if (!may_fuse(schedule))
    return std::nullopt;
  const auto order = poly::scheduled_order(schedule.scop, prefers_parallel, kSchedulerQuota);
  const auto directive = order && is_plain(schedule.scop, *order)
                             ? arrangement_of(schedule.scop, schedule.order, *order)
                             : std::nullopt;
  if (!directive)
    return std::nullopt;
  auto made = apply(schedule, *directive, environment);
  return made ? std::optional(*std::move(made)) : std::nullopt;
}

bool is_same_order(const Schedule& a, const Schedule& b) {
  const auto names = poly::names_of_statements(a.scop);
  if (a.scop.statements.size() != b.scop.statements.size() ||
      poly::print(a.order, names) != poly::print(b.order, names))
    return false;
  for (size_t s = 0; s < a.scop.statements.size(); ++s)
    if (!is_same_statement(a.scop.statements[s], b.scop.statements[s]))
      return false;
  for (size_t s = 0; s < a.order.rows.size(); ++s)
    for (size_t k = 0; k < a.order.rows[s].size(); ++k)
      if (!scalar::equal(a.order.rows[s][k], b.order.rows[s][k]))
        return false;
  return true;
}

} // namespace kawara::schedule
