#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Asks, in the innermost loops of a loop's body, for the lines that they will read in the
/// iteration ahead of it, where each of their iterations reads another row: those lines lie apart,
/// and are no panel (prefetch_panel.h).
///
///   before   for j:  prefetch(B, j)
///              for k in range(0, 64): ... B[k, j*32 .. j*32 + 31] ...
///   after    for j:
///              for k in range(0, 64):
///                prefetch B[k, j*32 + 32];  prefetch B[k, j*32 + 48]
///                ... B[k, j*32 .. j*32 + 31] ...
///
/// Returns whether some loop inside reads the buffer in that way; else the body is as it was.
bool prefetch_rows(const Kernel&, For& loop, const poly::Prefetched&);

} // namespace kawara::kernel
