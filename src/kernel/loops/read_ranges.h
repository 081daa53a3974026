#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Loops over a range that is read from data (program::DataLoop). Where the loop's value is itself
/// an index, its first and its last value are checked before the loop instead of each of them in
/// it. Such loops are mostly short: they are not unrolled, here or by LLVM.
Kernel read_ranges(Kernel);

} // namespace kawara::kernel
