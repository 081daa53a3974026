#pragma once

#include "kernel/kernel.h"
#include "program/program.h"
#include "schedule/schedule.h"
#include "validate/validate.h"

namespace kawara::driver {

/// What `--verify` says of a finished kernel.
struct KernelVerdict {
  std::vector<std::string> broken; ///< empty: nothing is wrong with it
  std::string note; ///< how far it was compared to its program, and what was left out
};

/// Statement instances of the program, all sizes together, up to which a kernel is interpreted
/// under `--verify`; and how many more where parts of it have not run by then.
inline constexpr uint64_t kVerifiedInstances = 20'000, kVerifiedForRest = 100'000;
/// The same as the second where a kernel has launches of warpgroups: the proof does not read them,
/// and one of their tiles has some hundred thousand instances.
inline constexpr uint64_t kVerifiedOfWarpgroups = 10'000'000;

/// The spec of the kernel that was made of these loops, and the kernel against its program over a
/// finite ring at the edges of its tiles (kernel/interpret/check_over_field.h). `with_calls` is
/// what the same passes make when functions stay calls: formulas for them are not compared.
KernelVerdict verify_kernel(const program::Program&, const kernel::Kernel& loops,
                            const kernel::Kernel& finished, const kernel::Kernel& with_calls);

/// The finished kernel against its schedule in integer sets, as far as that takes a few
/// milliseconds (validate::quick_limits): an InternalError that says what differs, where something
/// does. Returns how far it came (`outcome_of`). `together`: kernels that share these milliseconds.
std::string require_valid(const schedule::Schedule&, const kernel::Kernel&, size_t together = 1);

/// What `--verify` says of the same proof with all the time that it needs.
std::string note_of(const validate::Report&);
/// The same in a few words, to be counted: "proved", "proved in part", "not completed (limit
/// reached, see --verify)", "too large to read", "not read" (launches of warpgroups).
std::string outcome_of(const validate::Report&);

} // namespace kawara::driver
