#include "run/cuda/gather.h"

#include <algorithm>

namespace kawara::run {
namespace {

constexpr unsigned kThreadsOfRow = 128;
constexpr int64_t kMostBlocksAcross = 65535; ///< in y
constexpr const char* kGatherName = "gather_rows";

} // namespace

const std::string& CudaGather::text() {
  static const std::string text =
      R"(// Row `row` of `out` is the row of `table` that indices[row % count] names.
template <class Element>
__device__ void copy_row(const unsigned char* from, unsigned char* to, long long bytes) {
  const Element* elements = (const Element*)from;
  for (long long k = threadIdx.x; k < bytes / (long long)sizeof(Element); k += blockDim.x)
    ((Element*)to)[k] = elements[k];
}

extern "C" __global__ void gather_rows(const unsigned char* table, const void* indices,
                                       unsigned char* out, long long rows, long long count,
                                       long long bytes, int is_wide) {
  const long long outer = blockIdx.x;
  for (long long i = blockIdx.y; i < count; i += gridDim.y) {
    long long index = is_wide ? ((const long long*)indices)[i] : (long long)((const int*)indices)[i];
    index = index < 0 ? index + rows : index;
    unsigned char* to = out + (outer * count + i) * bytes;
    if (index < 0 || index >= rows) {
      for (long long k = threadIdx.x; k < bytes; k += blockDim.x)
        to[k] = 0xff;
      continue;
    }
    const unsigned char* from = table + (outer * rows + index) * bytes;
    if (bytes % 16 == 0)
      copy_row<uint4>(from, to, bytes);
    else if (bytes % 4 == 0)
      copy_row<unsigned>(from, to, bytes);
    else
      copy_row<unsigned char>(from, to, bytes);
  }
}
)";
  return text;
}

Result<CudaGather, Diagnostic> CudaGather::load(std::shared_ptr<CudaDevice> device,
                                                const NvrtcOptions& options) {
  KAWARA_TRY(const Cubin cubin, cubin_from_cuda(text(), kGatherName, options));
  KAWARA_TRY(const auto functions, device->load(cubin.bytes, {kGatherName}, {0}));
  CudaGather gather;
  gather.device_ = std::move(device);
  gather.function_ = functions.front();
  return gather;
}

Result<Done, Diagnostic> CudaGather::start(const GatherSizes& sizes, DevicePointer table,
                                           DevicePointer indices, DevicePointer out) const {
  if (sizes.outer * sizes.count * sizes.bytes == 0)
    return Done{};
  int64_t rows = sizes.rows, count = sizes.count, bytes = sizes.bytes;
  int is_wide = sizes.has_wide_indices ? 1 : 0;
  void* arguments[] = {&table, &indices, &out, &rows, &count, &bytes, &is_wide};
  const unsigned blocks[3] = {static_cast<unsigned>(sizes.outer),
                              static_cast<unsigned>(std::min(count, kMostBlocksAcross)), 1};
  const unsigned threads[3] = {kThreadsOfRow, 1, 1};
  return device_->launch(function_, blocks, threads, 0, arguments);
}

} // namespace kawara::run
