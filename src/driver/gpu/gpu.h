#pragma once

#include "driver/pipeline.h"
#include "emit/cuda/cuda_from_kernel.h"
#include "program/interpret/values.h"
#include "run/cuda/cuda_executable.h"

#include <filesystem>

namespace kawara::driver {

/// The line up to something that runs on the GPU of this machine.
struct CompiledForGpu {
  Scheduled front;
  kernel::Kernel kernel; ///< after all passes
  emit::CudaUnit unit;
  run::CudaExecutable executable;
};

/// CUDA text of a proven schedule. The environment has a GPU.
emit::CudaUnit cuda_of(const Scheduled&, const schedule::Environment&, Trace&);

/// Text to loaded code. Refuses a machine without driver, GPU or NVRTC (K0710 to K0714).
Parsed<CompiledForGpu> compile_for_gpu(const Request&, const schedule::Environment&, Trace&);

Parsed<program::Arrays> call(const CompiledForGpu&, const std::vector<int64_t>& sizes,
                             program::Arrays inputs);
Parsed<run::Timing> time_calls(const CompiledForGpu&, const std::vector<int64_t>& sizes,
                               program::Arrays inputs, const run::MeasureOptions&);

/// Where machine code for GPUs is kept between runs: $XDG_CACHE_HOME/kawara/cuda or
/// ~/.cache/kawara/cuda; empty when neither is known.
std::filesystem::path cuda_cache();

} // namespace kawara::driver
