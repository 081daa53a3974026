#pragma once

#include "run/cuda/device.h"
#include "run/cuda/nvrtc.h"

namespace kawara::run {

/// Rows of a table by index: out[a, i] = table[a, indices[i]], where an element is `bytes` wide.
struct GatherSizes {
  int64_t outer = 1, rows = 1;  ///< of the table
  int64_t count = 1;            ///< indices
  int64_t bytes = 1;            ///< behind each index
  bool has_wide_indices = true; ///< i64, otherwise i32
};

/// Looks rows up on a GPU, which no affine program can say. An index counts from the end when it is
/// negative; one outside the table gives elements full of ones (NaN of floats).
class CudaGather {
public:
  /// Refuses what NVRTC (K0710) and the device (K0713) refuse.
  static Result<CudaGather, Diagnostic> load(std::shared_ptr<CudaDevice>, const NvrtcOptions&);

  /// Returns before it is done.
  Result<Done, Diagnostic> start(const GatherSizes&, DevicePointer table, DevicePointer indices,
                                 DevicePointer out) const;

  /// The kernel's text.
  static const std::string& text();

private:
  std::shared_ptr<CudaDevice> device_;
  CudaDevice::Function function_;
};

} // namespace kawara::run
