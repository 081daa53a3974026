#pragma once

#include "driver/gpu/gpu_programs.h"
#include "run/cuda/device.h"

#include <functional>

namespace kawara::operator_models {

/// Counts for people.
struct JobTotals {
  int64_t models = 0, kernels = 0, plain = 0, groups = 0;
  int64_t passed = 0, wrong = 0;
  int64_t refused = 0; ///< runs on a processor only
  int64_t elsewhere =
      0; ///< a processor does the same with it: refuses it, or has other results than expected
  int64_t longest_text = 0; ///< of a kernel, in bytes

  void add(const driver::GpuPrograms&);
  void add(const JobTotals&);
};

/// A model to try.
struct GuardedJob {
  std::string name;
  /// What is wrong, or nothing; nobody else counts what passed or was wrong. Without a device
  /// kernels are interpreted.
  std::function<std::string(const std::shared_ptr<run::CudaDevice>&, JobTotals&)> wrong_with;
};

struct GuardOptions {
  bool is_on_device = false;
  double seconds = 1e9; ///< no job begins after that
  int64_t processes = 1;
  bool is_verbose = false; ///< says what is refused
};

/// Runs jobs in child processes, several at a time, and says which are wrong, and counts. A job
/// that kills its child, or the device, is charged with it, and another child goes on behind it.
/// The exit code: 0, 1 when something is wrong, 77 without the device that is asked for.
int run_guarded(const std::vector<GuardedJob>&, const GuardOptions&);

/// The environment of the device, or of one of compute capability 9.0.
schedule::Environment environment_of(const std::shared_ptr<run::CudaDevice>&);

/// What the device makes of these inputs, step by step and as a graph; a sentence when it refuses
/// or the two differ.
Result<std::vector<graph::Tensor>, std::string>
results_on_device(const driver::Tape&, const driver::GpuPrograms&,
                  const std::map<std::string, run::Datum>& inputs,
                  const std::shared_ptr<run::CudaDevice>&);

} // namespace kawara::operator_models
