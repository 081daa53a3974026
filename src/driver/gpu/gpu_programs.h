#pragma once

#include "driver/kernels/kernels.h"
#include "driver/model/model.h"
#include "driver/tape/tape.h"
#include "emit/cuda/cuda_from_kernel.h"
#include "kernel/kernel.h"
#include "run/cuda/nvrtc.h"

namespace kawara::driver {

/// A program of a model for a GPU.
struct GpuProgram {
  std::string name; ///< of its functions: "conv_relu"
  kernel::Kernel kernel;
  emit::CudaUnit unit;
  run::Cubin cubin;         ///< empty where only text was asked for
  bool is_scheduled = true; ///< by default; otherwise in the order of the text, on few threads
  Trace trace;              ///< of the schedule that was taken: times, what checks said
};

/// By text.
using GpuPrograms = std::map<std::string, std::shared_ptr<const GpuProgram>>;

struct GpuProgramOptions {
  std::filesystem::path cache; ///< of machine code; empty: none
  bool makes_code = true;      ///< otherwise the text of kernels only
  bool wants_log = false;      ///< registers and spills; without the cache
  bool verify = false;         ///< every artefact is checked on the way
  KnownSchedule known;         ///< may be empty
  Progress progress;
};

/// The options with what tensor cores want: of narrow floats, images with their channels last and
/// attention as one node unless it is to be in parts.
ModelOptions options_for_gpu(ModelOptions);

/// What a run with these inputs does, as programs for a GPU. Refuses what `Model::tape_of_programs`
/// refuses.
Result<Tape, Diagnostic> gpu_tape_of(Model&, const std::map<std::string, Datum>& inputs);

/// The texts of a tape's programs as they are compiled for a GPU, with the number of steps that run
/// each: what can be tuned, and what `known` is asked about.
std::map<std::string, int64_t> gpu_texts_of(const Tape&, const GpuProgramOptions&);

/// The programs of a tape for the environment's GPU, several at a time. Refuses a machine without
/// NVRTC (K0710) and text that it does not take (K0711).
Result<GpuPrograms, Diagnostic> gpu_programs_of(const Tape&, const schedule::Environment&,
                                                const GpuProgramOptions&);

/// What checks said of the programs, in the order of the tape: "conv_relu: kernel read back into
/// sets: ...".
std::vector<std::string> proof_notes(const Tape&, const GpuPrograms&);

} // namespace kawara::driver
