#include "validate/validate.h"

#include "kernel/walk.h"
#include "validate/barriers.h"
#include "validate/group_stores.h"
#include "validate/happens_before.h"
#include "validate/instances.h"
#include "validate/runs.h"

#include <algorithm>
#include <optional>

namespace kawara::validate {
namespace {

/// What is left of the operations after reading the kernel, statement by statement; nothing where
/// it is too large.
std::optional<unsigned long> operations_for(const kernel::Kernel& kernel, const Limits& limits) {
  constexpr unsigned long kReading = 4; // operations that take as long as to read a statement
  unsigned long all = 0;
  size_t with_instances = 0;
  kernel::visit(kernel.body, [&](const kernel::Stmt& stmt) {
    const kernel::Origins* origins = kernel::origins_of(stmt);
    ++all;
    with_instances += origins != nullptr && !origins->empty() ? 1 : 0;
  });
  if (kReading * all >= limits.operations || with_instances > limits.statements)
    return std::nullopt;
  return limits.operations - kReading * all;
}

} // namespace

Limits quick_limits(size_t kernels) {
  Limits limits = kQuick;
  if (kernels <= kTogether)
    return limits;
  const auto share = [&](auto whole) {
    return std::max<decltype(whole)>(whole * kTogether / kernels, 1);
  };
  limits.operations = share(limits.operations);
  limits.statements = share(limits.statements);
  limits.accesses = share(limits.accesses);
  limits.pairs = share(limits.pairs);
  limits.stores = share(limits.stores);
  return limits;
}

Report validate(const schedule::Schedule& schedule, const kernel::Kernel& kernel,
                const Limits& limits) {
  Report report;
  const auto operations = operations_for(kernel, limits);
  if (!operations) {
    report.is_finished = report.is_read = false;
    return report;
  }
  const poly::Context& context = *schedule.scop.context_owner;
  const auto barriers_within = [&](unsigned long quota) {
    const bool is_parted = poly::within_quota(
        context, quota, [&] { check_barriers(schedule.scop, kernel, limits.pairs, report); });
    report.is_finished = report.is_finished && is_parted;
  };
  if (kernel::has_async_op(kernel.body)) {
    report.is_read = false;
    report.unchecked.push_back("instances, order and elements: orders of warpgroups to the tensor "
                               "cores and to the TMA are not read back");
    const bool is_counted = poly::within_quota(context, *operations, [&] {
      check_group_stores(schedule.scop, kernel, limits.stores, report);
    });
    report.is_finished = is_counted;
    barriers_within(*operations);
    return report;
  }
  // Nearly all pairs of threads are apart as expressions: a small part of the sets is for them.
  constexpr unsigned long kPart = 4;
  const unsigned long for_barriers = has_launch(kernel.body) ? *operations / kPart : 0;
  const unsigned long for_rest = *operations - for_barriers;
  // A fault that was found counts, even where the quota runs out after it.
  DomainFacts reading;
  bool is_read = false;
  const auto prove = [&](bool goes_back) {
    const Runs runs = runs_of(schedule.scop, reading, true, goes_back);
    report.faults.insert(report.faults.end(), runs.faults.begin(), runs.faults.end());
    check_instances(schedule.scop, runs, report);
    if (!check_order(schedule.scop, runs, report))
      check_order(schedule.scop, runs_of(schedule.scop, reading, false, goes_back), report);
  };
  report.is_finished = poly::within_quota(context, for_rest, [&] {
    reading = domain_facts_of(schedule.scop, kernel, limits.accesses);
    report.unchecked = reading.unread;
    check_accesses(schedule.scop, reading.accesses, report);
    is_read = true;
    prove(true);
  });
  // Triangles with tiles are sometimes simpler as images of their loops.
  if (!report.is_finished && is_read && report.faults.empty() &&
      limits.operations > kQuick.operations) {
    report.unchecked = reading.unread;
    report.is_finished = poly::within_quota(context, for_rest, [&] { prove(false); });
  }
  if (for_barriers > 0)
    barriers_within(for_barriers);
  return report;
}

} // namespace kawara::validate
