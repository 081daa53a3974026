#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Where indices of a vectorised loop are clamped or chosen at the borders of a tensor, the inner
/// iterations apart from those at the borders: index set splitting. Lanes of the inner ones lie
/// side by side; a clamp would make a gather of them.
///
///   before   for j in range(0, W):  # vector(8)
///              y[j] = x[max(j - 1, 0)] + x[min(j + 1, W - 1)]
///   after    for j in range(0, j_inner): ...as before
///            for j in range(j_inner, j_border):  # vector(8)
///              y[j] = x[j - 1] + x[j + 1]
///            for j in range(j_border, W): ...as before
///
/// In tiles, whose vectorised loops have constant bounds, each tile asks once:
///
///   for j_0: if j_0*8 - 1 >= 0 and W - 2 - j_0*8 >= 7: for j_1 in range(0, 8): ...without clamps
///            else:                                     for j_1 in range(0, 8): ...as before
///
/// Iterations keep their order. Loops that threads share are not split.
Kernel split_clamps(Kernel);

} // namespace kawara::kernel
