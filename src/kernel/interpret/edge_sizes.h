#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Values of the parameters at which the edges of a kernel's tiles are met. A parameter's tiles are
/// the constants that stand beside it in bounds of loops, conditions and numbers of blocks, the
/// steps and lanes of these loops, and what they are unrolled by.
///
/// Each parameter takes 0, 1, and t - 1, t, t + 1, 2t + 1 for each of its tiles t up to
/// `largest_tile`, while the others rotate through their smaller ones; several together take the
/// edges of their smallest and of their largest tiles. Values that the program's assumptions
/// exclude are left out; parameters that these fix have that value alone. First come those in which
/// a parameter has a value for the first time, then the others, in both parts the cheapest first.
std::vector<std::vector<int64_t>> edge_sizes(const program::Program&, const Kernel&,
                                             int64_t largest_tile = 4096);

} // namespace kawara::kernel
