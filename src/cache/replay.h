#pragma once

#include "cache/description.h"
#include "estimate/machine.h"
#include "estimate/replayed.h"
#include "kernel/kernel.h"

#include <functional>
#include <span>
#include <vector>

namespace kawara::cache {

/// Caches of a machine's sizes, lru in 8 ways: what is known of it says nothing of ways. Sizes are
/// rounded down to whole sets.
std::vector<Description> caches_of_sizes(const estimate::Machine&, Policy = Policy::Lru);

/// Goes through the loads and stores of a processor's kernel, after all passes, one by one and with
/// one thread (`simulate`), and counts what caches in a row move: a prediction (predict.h) looks at
/// loops, this at every address. The caches are those of the machine's levels before the last.
/// Counted is the second call (`accesses_of_kernel`). Refuses a kernel whose addresses or bounds
/// depend on data, or one for a GPU (K0457).
Result<estimate::Replayed, Diagnostic>
replay(const kernel::Kernel&, std::span<const int64_t> sizes, const estimate::Machine&,
       const std::vector<Description>&, const std::function<void(int64_t accesses)>& progress = {});

} // namespace kawara::cache
