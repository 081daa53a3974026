#pragma once

#include "kernel/kernel.h"

#include <string>
#include <vector>

namespace kawara::emit {

/// A buffer as TMA sees it: copied in boxes of that many elements, by dimension.
struct CudaMap {
  uint32_t buffer = 0;
  std::vector<int64_t> box;
  /// Instead of boxes, as many places of a window as the box has columns, with its channels.
  std::optional<kernel::WindowWalk> walk = {};
  friend bool operator==(const CudaMap&, const CudaMap&) = default;
};

/// What one launch passes to its function on the device, in this order: parameters, variables of
/// loops of the host, buffers, then maps. Numbers are those of the Kernel.
struct CudaLaunch {
  std::string name;
  std::vector<uint32_t> params, variables, buffers;
  int64_t shared_bytes = 0; ///< of all shared buffers
  bool is_dynamic = false;  ///< they are asked for at the launch, not by the function
  bool is_alone = false;    ///< begins when the launch before has ended, and so does the next one
  std::vector<CudaMap> maps = {};
};

/// CUDA C++ text of a kernel that holds launches.
struct CudaUnit {
  std::string function; ///< name of the host's function
  /// The whole file: functions for the device, which need no header, and one for the host, which
  /// compilers for the device alone (NVRTC) do not see.
  std::string text;
  std::string prototype;            ///< of the host's function
  std::vector<CudaLaunch> launches; ///< in the order of the text
  std::vector<std::string> flags;   ///< that a compiler needs to keep the numerics contract
  bool has_narrow_indices = false;  ///< indices are `int`; else 64 bits
};

/// A kernel after `kernel::optimise_for_gpu` as CUDA C++:
///
///   __global__ void gemm_0(const float* A, const float* B, float* C)   one per launch
///   cudaError_t gemm(const float* A, ..., cudaStream_t stream)         launches them in order
///
/// A kernel with temps has two functions more: `gemm_workspace` says how many bytes they take,
/// `gemm_in` is given that memory, so that nothing is allocated; `gemm` asks the stream for it.
/// Every launch but those that copy ahead of their computation allows the next to place its blocks
/// early; blocks wait, before they touch memory, until the launch before is done (kw_begin).
///
/// Pointers are to device memory, aligned to 16 bytes. Vectors are loaded and stored whole where
/// their position is provably a multiple of their size, else lane by lane. Indices are 32 bits wide
/// when all buffers are known to be small enough.
CudaUnit cuda_from_kernel(const kernel::Kernel&);

/// Shared memory that a function can have without asking at the launch.
inline constexpr int64_t kStaticSharedBytes = 48 * 1024;
/// Bytes of what the driver makes of a CudaMap (CUtensorMap), and its alignment.
inline constexpr int64_t kCudaMapBytes = 128, kCudaMapAlignment = 64;
/// Alignment of swizzled shared memory.
inline constexpr int64_t kSwizzleAlignment = 1024;
/// Alignment of buffers in device and shared memory that vector accesses count on.
inline constexpr int64_t kCudaAlignment = 16;

} // namespace kawara::emit
