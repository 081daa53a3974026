#pragma once

#include "driver/kernels/kernels.h"
#include "graph/optimise/passes.h"

namespace kawara::driver {

/// Computes single nodes with the kernels, which must outlive the function.
graph::optimise::Evaluate evaluator(Kernels&);

} // namespace kawara::driver
