#include "validate/validate.h"

#include "validate/happens_before.h"
#include "validate/instances.h"
#include "validate/runs.h"

namespace kawara::validate {

Report validate(const schedule::Schedule& schedule, const kernel::Kernel& kernel,
                unsigned long quota) {
  Report report;
  if (kernel::has_engine(kernel.body)) {
    report.unchecked.push_back(
        "launches of warpgroups: their orders to the tensor cores and to the "
        "TMA are not read back");
    return report;
  }
  report.is_finished = poly::within_quota(*schedule.scop.context_owner, quota, [&] {
    const Runs runs = runs_of(schedule.scop, kernel);
    report.faults = runs.faults;
    report.unchecked = runs.unread;
    check_instances(schedule.scop, runs, report);
    if (!check_order(schedule.scop, runs, report)) {
      report.faults.clear();
      const Runs copies = runs_of(schedule.scop, kernel, false);
      report.faults = copies.faults;
      check_instances(schedule.scop, copies, report);
      check_order(schedule.scop, copies, report);
    }
  });
  // What isl says once its quota has run out is no answer.
  if (!report.is_finished)
    report.faults.clear();
  return report;
}

} // namespace kawara::validate
