#include "validate/validate.h"

#include "validate/barriers.h"
#include "validate/happens_before.h"
#include "validate/instances.h"
#include "validate/runs.h"

#include <algorithm>

namespace kawara::validate {
namespace {

/// Those that run instances.
size_t statements_in(const kernel::Kernel& kernel) {
  size_t count = 0;
  kernel::visit(kernel.body, [&](const kernel::Stmt& stmt) {
    const kernel::Origins* origins = origins_of(stmt);
    count += origins != nullptr && !origins->empty() ? 1 : 0;
  });
  return count;
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
  return limits;
}

Report validate(const schedule::Schedule& schedule, const kernel::Kernel& kernel,
                const Limits& limits) {
  Report report;
  if (kernel::has_engine(kernel.body)) {
    report.unchecked.push_back(
        "launches of warpgroups: their orders to the tensor cores and to the "
        "TMA are not read back");
    return report;
  }
  if (statements_in(kernel) > limits.statements) {
    report.is_finished = false;
    return report;
  }
  // A fault that was found counts, even where the quota runs out after it.
  Reading reading;
  bool is_read = false;
  const auto prove = [&](bool goes_back) {
    const Runs runs = runs_of(schedule.scop, reading, true, goes_back);
    report.faults.insert(report.faults.end(), runs.faults.begin(), runs.faults.end());
    check_instances(schedule.scop, runs, report);
    if (!check_order(schedule.scop, runs, report))
      check_order(schedule.scop, runs_of(schedule.scop, reading, false, goes_back), report);
  };
  const poly::Context& context = *schedule.scop.context_owner;
  report.is_finished = poly::within_quota(context, limits.operations, [&] {
    reading = reading_of(schedule.scop, kernel, limits.accesses);
    report.unchecked = reading.unread;
    check_accesses(schedule.scop, reading.accesses, report);
    is_read = true;
    prove(true);
  });
  // Triangles with tiles are sometimes simpler as images of their loops.
  if (!report.is_finished && is_read && report.faults.empty() &&
      limits.operations > kQuick.operations) {
    report.unchecked = reading.unread;
    report.is_finished = poly::within_quota(context, limits.operations, [&] { prove(false); });
  }
  bool is_parted = poly::within_quota(context, limits.operations, [&] {
    check_barriers(schedule.scop, kernel, limits.pairs, report);
  });
  report.is_finished = report.is_finished && is_parted;
  return report;
}

} // namespace kawara::validate
