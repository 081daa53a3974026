#pragma once

#include "emit/cuda/cuda_from_kernel.h"
#include "emit/cuda/expr.h"

namespace kawara::emit {

/// The function on the device for one launch. Fills what the launch must pass.
std::string cuda_device_function(const kernel::Kernel&, const kernel::Launch&, CudaExpr&,
                                 CudaLaunch& out);

} // namespace kawara::emit
