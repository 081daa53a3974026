#include "driver/verify_kernel.h"

#include "kernel/interpret/check_over_field.h"
#include "kernel/interpret/edge_sizes.h"
#include "program/interpret/arguments.h"
#include "support/check.h"

#include <algorithm>

namespace kawara::driver {
namespace {

std::string counted(size_t count, const std::string& one, const std::string& several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}
std::string counted(size_t count, const std::string& what) {
  return counted(count, what, what + "s");
}

/// Edges of the tiles that the schedule asked for and of those that passes made.
std::vector<std::vector<int64_t>> sizes_for(const program::Program& program,
                                            const kernel::Kernel& loops,
                                            const kernel::Kernel& finished) {
  std::vector<std::vector<int64_t>> sizes = kernel::edge_sizes(program, loops);
  for (std::vector<int64_t>& more : kernel::edge_sizes(program, finished))
    if (std::find(sizes.begin(), sizes.end(), more) == sizes.end())
      sizes.push_back(std::move(more));
  return sizes;
}

std::string listed(std::vector<std::string> what) {
  constexpr size_t kShown = 4;
  std::sort(what.begin(), what.end());
  what.erase(std::unique(what.begin(), what.end()), what.end());
  std::string text;
  for (size_t n = 0; n < std::min(what.size(), kShown); ++n)
    text += (n == 0 ? "" : "; ") + what[n];
  return what.size() > kShown ? text + "; " + std::to_string(what.size() - kShown) + " more" : text;
}

} // namespace

std::string require_valid(const schedule::Schedule& schedule, const kernel::Kernel& kernel,
                          size_t together) {
  const validate::Report report =
      validate::validate(schedule, kernel, validate::quick_limits(together));
  KAWARA_CHECK(report.faults.empty(),
               "the finished kernel differs from its schedule: " + listed(report.faults));
  return outcome_of(report);
}

std::string outcome_of(const validate::Report& report) {
  if (!report.is_read)
    return report.unchecked.empty() ? "too large to read" : "not read";
  if (!report.is_finished)
    return "not completed (limit reached, see --verify)";
  return report.unchecked.empty() ? "proved" : "proved in part";
}

std::string note_of(const validate::Report& report) {
  std::string note = "kernel not read back into sets";
  if (!report.is_read && report.unchecked.empty())
    note += ": it has too many statements";
  if (report.is_read) {
    note = "kernel read back into sets: ";
    note += report.is_finished ? "equal to its schedule for all sizes" : "not finished";
    if (report.is_finished && !report.unchecked.empty())
      note += " as far as it was checked";
    note += "; elements of " + counted(report.compared, "access", "accesses") + " compared";
  }
  if (report.outputs > 0)
    note += "; all elements of " + counted(report.outputs, "output") + " stored once";
  if (report.pairs > 0)
    note += "; " + counted(report.pairs, "pair") +
            " of threads' accesses compared that no barrier parts";
  if (!report.unchecked.empty())
    note += "; not checked: " + listed(report.unchecked);
  if (!report.uncompared.empty())
    note += "; elements not compared: " + listed(report.uncompared);
  return note;
}

KernelVerdict verify_kernel(const program::Program& program, const kernel::Kernel& loops,
                            const kernel::Kernel& finished, const kernel::Kernel& with_calls) {
  KernelVerdict verdict;
  verdict.broken = kernel::spec(finished);
  if (!verdict.broken.empty())
    return verdict;
  const uint64_t for_rest =
      kernel::has_async_op(finished.body) ? kVerifiedOfWarpgroups : kVerifiedForRest;
  const kernel::FieldCheck check =
      kernel::check_over_field(program, with_calls, sizes_for(program, loops, finished),
                               {.instances = kVerifiedInstances, .instances_for_rest = for_rest});
  if (check.wrong)
    verdict.broken.push_back("at " + program::params_text(program, check.params) +
                             " the kernel does not compute the program: " + *check.wrong);
  const std::string limit =
      ", which would take more than " + std::to_string(for_rest) + " statement instances";
  verdict.note = check.checked == 0 ? "kernel not compared to its program over a finite ring" +
                                          (check.left_out > 0 ? limit : "")
                                    : "kernel compared to its program over a finite ring at " +
                                          counted(check.checked, "size");
  if (check.checked > 0 && check.left_out > 0)
    verdict.note += "; " + std::to_string(check.left_out) + " left out" + limit;
  if (check.never_run > 0)
    verdict.note += "; " + std::to_string(check.never_run) + " of " +
                    counted(check.statements, "statement") + " ran at none";
  if (kernel::print(with_calls) != kernel::print(finished))
    verdict.note += "; formulas of functions not compared";
  return verdict;
}

} // namespace kawara::driver
