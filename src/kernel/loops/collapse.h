#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Runs a loop marked joins_child and its only child as one loop.
///
///   before   for i in range(0, N): for j in range(0, M):      S(i, j)
///   after    for i in range(0, N*M):   let i = ij // M; let j = ij % M; S(i, j)
///
/// A loop over blocks or threads of a GPU has no statements between it and others: there S(ij // M,
/// ij % M).
///
/// Needs    the child alone in the body, with bounds that do not depend on the outer loop, both
///          with step 1, none a vector loop (lanes must not go on in the next row); elsewhere the
///          loops stay two and the mark is dropped.
Kernel collapse(Kernel);

} // namespace kawara::kernel
