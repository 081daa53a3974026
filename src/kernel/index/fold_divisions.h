#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Divisions and remainders of indices that the loops around decide are evaluated.
///
///   before   for i_0: for i_1 in range(0, 32): T[(i_0*32 + i_1)//32, (i_0*32 + i_1)%32] = ...
///   after    for i_0: for i_1 in range(0, 32): T[i_0, i_1] = ...
///
/// Where only the last digits are decided, those: (i*4 + j) % 16 becomes i % 4 * 4 + j for j in
/// 0..3.
Kernel fold_divisions(Kernel);

} // namespace kawara::kernel
