#pragma once

#include "driver/gpu/gpu_programs.h"
#include "run/cuda/cuda_executable.h"
#include "run/measure.h"

namespace kawara::driver {

/// A step of a model on a GPU, for people.
struct GpuStepTime {
  std::string name; ///< "conv_relu", or the operator of a call
  bool is_on_host = false;
  double seconds = 0; ///< of the device; of a call: with the copies around it
};

/// A tape on a GPU. Weights and all that lies between steps stay on the device; neighbouring
/// kernels and copies are one CUDA graph. Run-time functions run on the host, with copies around
/// them. One call at a time.
class GpuModel {
public:
  /// Loads the tape's programs and copies its constants to the device. Refuses what the device
  /// refuses (K0713).
  static Result<GpuModel, Diagnostic> make(Tape, const GpuPrograms&,
                                           std::shared_ptr<run::CudaDevice>);
  GpuModel(GpuModel&&) noexcept;
  GpuModel& operator=(GpuModel&&) noexcept;
  ~GpuModel();

  const Tape& tape() const;
  /// The outputs for these inputs, in the tape's order and of its types and shapes. Refuses what
  /// functions refuse (K0511), other elements than those that shapes depend on (K0568), and what
  /// the device refuses. A careful run waits for every step, so that an error names its kernel, and
  /// finds NaN in all elements that it has not written.
  Result<std::vector<Datum>, Diagnostic> run(const std::vector<Datum>& inputs,
                                             bool is_careful = false);

  /// Time of a call after inputs were copied and before outputs are, on what the last `run` left.
  Result<run::Timing, Diagnostic> time(const run::MeasureOptions&);
  /// Time of each step alone, likewise.
  Result<std::vector<GpuStepTime>, Diagnostic> profile(int repetitions);

  int64_t launches() const;     ///< steps of a call that are kernels
  int64_t host_calls() const;   ///< and run-time functions on the host
  int64_t weight_bytes() const; ///< on the device
  int64_t work_bytes() const;   ///< on the device, for everything else

private:
  struct Impl;
  explicit GpuModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace kawara::driver
