#pragma once

#include "kernel/kernel.h"
#include "schedule/schedule.h"

#include <string>
#include <vector>

namespace kawara::validate {

/// isl operations that one kernel may take: some seconds.
inline constexpr unsigned long kQuota = 2'000'000;

/// What was found out about a finished kernel.
struct Report {
  std::vector<std::string>
      faults; ///< what the kernel does that the schedule does not say, with an example
  std::vector<std::string> unchecked; ///< what could not be read back into sets, and why
  bool is_finished = true;            ///< false: the quota ran out first
};

/// Reads a kernel, as the last pass left it, back into integer sets and compares it with the schedule, for all sizes:
///
/// - every instance of every statement runs, and runs once;
/// - what depends on each other runs in order: before it in the same thread, or in an earlier iteration of a serial loop, never in another
///   iteration of a parallel one;
///
/// Launches of warpgroups (kernel/warpgroups.h) are not read back; the report says so. Threads of a block are taken to go in step: that barriers make them do so is what kernel/interpret checks.
///
/// What passes say of the instances that a statement runs (kernel/origin.h) is what is read; bounds, conditions and orders are
/// the kernel's own. Arithmetic, addresses and what registers hold are not looked at: the interpretation over a finite field checks those.
Report validate(const schedule::Schedule&, const kernel::Kernel&, unsigned long quota = kQuota);

} // namespace kawara::validate
