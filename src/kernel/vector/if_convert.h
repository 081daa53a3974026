#pragma once

#include "kernel/analysis/ranges.h"

namespace kawara::kernel {

/// The body of `loop` with loads taken out of the arms of selects where they may always be done, so
/// that lanes can compute both arms.
///
///   before   B[j] = select(A[j] > 0, A[j], 0)
///   after    let A_value = A[j]
///            B[j] = select(A_value > 0, A_value, 0)
///
/// May be done always: what the iteration loads or stores in any case, and elements of inputs whose
/// indices are provably within the shape. `ranges`: the loops around `loop`.
Block if_convert(Kernel&, const For& loop, const Ranges& ranges);

} // namespace kawara::kernel
