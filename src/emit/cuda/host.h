#pragma once

#include "emit/c/expr.h"
#include "emit/cuda/cuda_from_kernel.h"

namespace kawara::emit {

/// `cudaError_t gemm(long long M, ..., const float* A, ..., float* C, cudaStream_t stream)`
std::string cuda_prototype(const kernel::Kernel&, const CNames&);

/// The function that launches everything in order, guarded from compilers for the device alone.
std::string cuda_host_function(const kernel::Kernel&, const CNames&, const CudaUnit&);

} // namespace kawara::emit
