#pragma once

#include "driver/tape/tape.h"
#include "run/cuda/gather.h"

namespace kawara::driver {

/// Whether a call can run on the device: a look-up of rows (Gather).
bool runs_on_device(const TapeStep&);
/// Sizes of such a call.
run::GatherSizes gather_sizes(const TapeCall&);

/// Copies that surround a kernel: its argument `number` lies `at` in the tape's memory, where
/// vectors cannot reach it, and is moved to a place of its own.
struct Detour {
  size_t number = 0;
  int64_t at = 0, place = 0, bytes = 0;
  bool is_input = true;
};

/// Where everything that a tape touches lies in one piece of device memory, by byte offset.
struct GpuLayout {
  std::vector<int64_t> constants; ///< by number; -1: only the host reads it
  std::vector<int64_t> inputs, outputs;
  int64_t block = 0, workspace = 0;
  int64_t weight_bytes = 0, bytes = 0; ///< the former lie in front
  /// By step; only kernels have some.
  std::map<size_t, std::vector<Detour>> detours;

  int64_t of(const Slot&) const;
};

/// What a kernel is called with, by argument.
struct ArgumentSize {
  int64_t bytes = 0;
  bool is_input = true;
};

/// The layout for a tape whose kernels need at most that much workspace. `sizes` tells of a step's
/// arguments.
GpuLayout gpu_layout(const Tape&, int64_t workspace_bytes,
                     const std::function<std::vector<ArgumentSize>(size_t step)>& sizes);

} // namespace kawara::driver
