#pragma once

#include "emit/cuda/cuda_from_kernel.h"
#include "emit/unit.h"
#include "run/cuda/device.h"
#include "run/cuda/nvrtc.h"
#include "run/measure.h"

#include <span>

namespace kawara::run {

/// Why a block of the GPU cannot run the unit: more shared memory than it can have (K0714). Known
/// before any code is compiled.
std::optional<Diagnostic> refuse_resources(const emit::CudaUnit&, const target::Gpu&);

/// A kernel on a GPU that can be called with arrays of the host.
class CudaExecutable {
public:
  /// Compiles the unit's text and loads it. Refuses what NVRTC (K0710, K0711) and the device
  /// (K0713) refuse, and a kernel that needs more shared memory than a block can have (K0714).
  static Result<CudaExecutable, Diagnostic> load(kernel::Kernel, const emit::CudaUnit&,
                                                 std::shared_ptr<CudaDevice>, NvrtcOptions);

  /// The same with machine code that was made of the unit's text before.
  static Result<CudaExecutable, Diagnostic> load(kernel::Kernel, const emit::CudaUnit&,
                                                 const Cubin&, std::shared_ptr<CudaDevice>);

  const emit::Signature& signature() const { return signature_; }

  /// Device memory besides the arguments that a kernel without parameters needs.
  int64_t workspace_bytes() const;
  /// Starts a kernel without parameters on memory of the device, in the order of the signature;
  /// returns before it is done. What runs at the same time must not share the workspace.
  Result<Done, Diagnostic> start(std::span<const DevicePointer> arguments,
                                 DevicePointer workspace) const;

  /// Copies the arguments (in the order of the signature) to the device, runs, and copies outputs
  /// back. Outputs and temps are filled with a pattern of NaNs before, so that an element nobody
  /// writes shows.
  Result<Done, Diagnostic> call(std::span<void* const> arguments,
                                std::span<const int64_t> params) const;

  /// Time per call, arguments on the device already.
  Result<Timing, Diagnostic> time(std::span<void* const> arguments, std::span<const int64_t> params,
                                  const MeasureOptions&) const;

  const CudaDevice& device() const { return *device_; }

private:
  struct Memory;
  CudaExecutable(kernel::Kernel kernel, emit::Signature signature)
      : kernel_(std::move(kernel)), signature_(std::move(signature)) {}
  Result<Memory, Diagnostic> memory_for(std::span<void* const> arguments,
                                        std::span<const int64_t> params) const;
  /// Memory of a buffer by its number: where, and how many bytes.
  using Places = std::map<uint32_t, std::pair<DevicePointer, int64_t>>;
  Result<Done, Diagnostic> run(const Places&, std::span<const int64_t> params) const;

  kernel::Kernel kernel_;
  emit::Signature signature_;
  std::vector<emit::CudaLaunch> launches_;
  std::vector<CudaDevice::Function> functions_;
  std::shared_ptr<CudaDevice> device_;
  bool has_narrow_indices_ = false;
};

} // namespace kawara::run
