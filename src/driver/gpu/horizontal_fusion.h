#pragma once

#include "driver/tape/tape.h"

namespace kawara::driver {

/// Kernels of one program that read the same values, but for constants, become one kernel that runs
/// the program for all of them side by side: the products with three matrices of weights that give
/// an attention layer its queries, keys and values. Their constants are put one behind the other,
/// their results too, in memory of their own. For tapes of programs, without code.
Tape horizontally_fused(Tape);

} // namespace kawara::driver
