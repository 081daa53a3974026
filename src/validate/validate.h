#pragma once

#include "kernel/kernel.h"
#include "schedule/schedule.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kawara::validate {

/// How much one kernel may take. Counted, not timed: the same on every machine.
struct Limits {
  /// Of isl: some seconds. To read a statement counts as a few of them.
  unsigned long operations = 2'000'000;
  size_t statements = SIZE_MAX; ///< of the kernel that run instances; with more it is not read
  size_t accesses = SIZE_MAX;   ///< whose elements are compared, the first ones
  size_t pairs = SIZE_MAX;      ///< of accesses of threads that no barrier parts
  size_t stores = 20'000'000;   ///< steps of threads on the way to what warpgroups store
};
/// Some milliseconds, below ten for the corpus and for nets (docs/decisions/0022), for what is
/// compiled without being asked to prove it.
inline constexpr Limits kQuick{7'000, 300, 100, 400, 20'000};
/// The same for one of `kernels` that are compiled together, as those of a model are: all of them
/// take no more than `kTogether` alone would.
Limits quick_limits(size_t kernels);
inline constexpr size_t kTogether = 150;

/// What was found out about a finished kernel.
struct Report {
  std::vector<std::string>
      faults; ///< what the kernel does that the schedule does not say, with an example
  std::vector<std::string> unchecked;  ///< what could not be read back into sets, and why
  std::vector<std::string> uncompared; ///< accesses whose elements were not compared, and why
  size_t compared = 0;                 ///< accesses whose elements were
  size_t pairs = 0;        ///< accesses of threads with no barrier between, whose elements were
  size_t outputs = 0;      ///< of warpgroups, all of whose elements are stored once
  bool is_read = true;     ///< false: instances, order and elements were not looked at
  bool is_finished = true; ///< false: a limit was reached first
};

/// Reads a kernel, as the last pass left it, back into integer sets and compares it with the
/// schedule, for all sizes:
///
/// - every instance of every statement runs, and runs once;
/// - it stores to the element that the program says, and the elements of tensors that it loads are
///   those that the program reads; through variables that hold an element over a loop, and in
///   buffers that hold part of a tensor. Accesses that stand between (copies to buffers that passes
///   made, tiles of collective instructions) are not followed; the report says so;
/// - what depends on each other runs in order: before it in the same thread, or in an earlier
///   iteration of a serial loop, never in another iteration of a parallel one;
/// - threads of a block go in step where it matters: barriers stand between what one writes and
///   another touches (validate/barriers.h).
///
/// Kernels with launches of warpgroups (kernel/gpu/warpgroup/warpgroups.h) are not read back, but
/// for what they store to their outputs (validate/group_stores.h) and barriers of their other
/// launches; the report says so.
///
/// What passes say of the instances that a statement runs (kernel/origin.h) is what is read;
/// bounds, conditions and orders are the kernel's own. Arithmetic is not looked at: the
/// interpretation over a finite field checks that.
Report validate(const schedule::Schedule&, const kernel::Kernel&, const Limits& = {});

} // namespace kawara::validate
