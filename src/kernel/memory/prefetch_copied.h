#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Asks, while a loop's body computes with a copy of a block, for the elements that the iteration
/// ahead of it will copy: where the innermost loops read the copy, for the element that would be
/// copied to the same place.
///
///   before   for i.0:  prefetch(A, i.0)
///              for k: P[k, 0..13] = A[k, i.0*14 .. i.0*14 + 13]
///              for k: ... P[k, 0..13] ...
///   after    for i.0:
///              for k: P[k, 0..13] = A[k, i.0*14 .. i.0*14 + 13]
///              for k: prefetch A[k, (i.0 + 1)*14];  ... P[k, 0..13] ...
///
/// Returns whether the body has such a copy and such loops; else it is as it was.
bool prefetch_copied(const Kernel&, For& loop, const poly::Prefetched&);

} // namespace kawara::kernel
