#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Where `first` is a nest that sets just the elements to which the padded tile `tile`
/// (padded_tile.h) adds its results, and to the value that changes no sum: the tile stores its
/// results without looking at the elements, and `first` is not needed. Whether that is so.
///
///   before   for i: for j: C[...] = 0            after   (nothing)
///            private C_tile:                             private C_tile:
///              ...                                         ...
///              for j: for i: C[...] += C_tile[i, j]        for j: for i: C[...] = C_tile[i, j]
bool starts_tile(const Kernel&, const Stmt& first, Block& tile);

} // namespace kawara::kernel
