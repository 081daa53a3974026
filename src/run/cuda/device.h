#pragma once

#include "emit/cuda/cuda_from_kernel.h"
#include "run/library.h"
#include "support/diagnostic.h"
#include "target/gpu.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace kawara::run {

/// An address in device memory.
using DevicePointer = uint64_t;

/// A GPU through the CUDA driver, which is opened at run time. All calls use one stream and, unless
/// they say otherwise, return before the work is done. An error names what was being done, on which
/// kernel where there is one (K0713).
class CudaDevice {
public:
  /// The first GPU of this machine. Refuses a machine without the driver (K0712), or where the
  /// driver finds no GPU or does not answer (K0713).
  static Result<std::shared_ptr<CudaDevice>, Diagnostic> open();
  ~CudaDevice();
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  /// As the driver describes it, with rates of the named GPU of its architecture.
  const target::Gpu& gpu() const { return gpu_; }
  /// Its place on the PCI bus, "0000:1b:00.0"; empty where the driver does not say.
  std::string pci_bus() const;

  struct Function {
    void* handle = nullptr;
    std::string name;
  };
  /// Functions of a cubin, in the order of `names`; shared memory beyond the usual limit is allowed
  /// as asked.
  Result<std::vector<Function>, Diagnostic> load(const std::string& cubin,
                                                 const std::vector<std::string>& names,
                                                 const std::vector<int64_t>& dynamic_shared);

  /// Memory that comes from a pool and goes back there; at least one byte.
  Result<DevicePointer, Diagnostic> allocate(int64_t bytes);
  void release(DevicePointer, int64_t bytes);

  /// Host memory that the device copies from and to while the host does something else.
  Result<void*, Diagnostic> allocate_host(int64_t bytes);
  void release_host(void*);

  Result<Done, Diagnostic> upload(DevicePointer to, const void* from, int64_t bytes);
  Result<Done, Diagnostic> download(void* to, DevicePointer from, int64_t bytes); ///< waits
  /// The same, but returns at once; the memory is the host's own, from `allocate_host`.
  Result<Done, Diagnostic> download_later(void* to, DevicePointer from, int64_t bytes);
  Result<Done, Diagnostic> copy(DevicePointer to, DevicePointer from, int64_t bytes);
  Result<Done, Diagnostic> fill(DevicePointer, unsigned char value, int64_t bytes);
  /// A kernel that waits itself for what was launched before it (kw_begin) may have its blocks
  /// placed while that is still running, also inside a graph.
  Result<Done, Diagnostic> launch(const Function&, const unsigned (&blocks)[3],
                                  const unsigned (&threads)[3], int64_t dynamic_shared,
                                  std::span<void*> arguments, bool waits_itself = false);
  /// How a row-major tensor lies in memory, for TMA: boxes whose rows are 128 bytes, swizzled.
  /// Refuses a driver that knows no such maps, and what it refuses (K0713).
  struct alignas(emit::kCudaMapAlignment) TensorMap {
    unsigned char bytes[emit::kCudaMapBytes];
  };
  Result<TensorMap, Diagnostic> tensor_map(DevicePointer, scalar::Elem,
                                           const std::vector<int64_t>& extents,
                                           const emit::CudaMap&) const;
  Result<Done, Diagnostic> wait(const std::string& doing);

  /// What was asked of a device once and can be asked again at the cost of one call. Lives as long
  /// as the device.
  struct Graph {
    void* handle = nullptr;
  };
  /// The graph of what `work` asks; nothing of it runs. `doing` is for messages. `work` must not
  /// wait.
  Result<Graph, Diagnostic> capture(const std::function<Result<Done, Diagnostic>()>& work,
                                    const std::string& doing);
  Result<Done, Diagnostic> replay(const Graph&, const std::string& doing);

  /// Seconds that the device spends on what `work` asks of it.
  Result<double, Diagnostic> seconds_of(const std::function<Result<Done, Diagnostic>()>& work);

private:
  struct Api;
  CudaDevice() = default;
  Result<Done, Diagnostic> checked(int status, const std::string& doing) const;

  std::unique_ptr<Api> api_;
  target::Gpu gpu_;
  void* context_ = nullptr;
  void* stream_ = nullptr;
  void* events_[2] = {};
  int device_ = 0;
  bool places_early_ = false; ///< the GPU knows how
  std::vector<void*> modules_, graphs_;
  std::mutex pool_mutex_;
  std::multimap<int64_t, DevicePointer> pool_; ///< free memory by size
};

} // namespace kawara::run
