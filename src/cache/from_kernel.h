#pragma once

#include "cache/access_program.h"
#include "kernel/kernel.h"
#include "support/diagnostic.h"
#include "support/result.h"

#include <span>

namespace kawara::cache {

/// The loads and stores of a processor's kernel after all passes (estimate/accesses.h), those of a
/// second call: the first one, which finds caches empty and packs constants, is `warm_up`. Small
/// arrays begin at a page, large ones at a huge page, as the run time places them. Refuses a kernel
/// whose addresses or bounds depend on data, or one for a GPU (K0457).
Result<AccessProgram, Diagnostic> accesses_of_kernel(const kernel::Kernel&,
                                                     std::span<const int64_t> sizes);

} // namespace kawara::cache
