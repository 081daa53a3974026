#include "emit/cuda/shared_layout.h"

#include "emit/cuda/cuda_from_kernel.h"
#include "kernel/interpret/interpret.h"
#include "kernel/walk.h"

#include <algorithm>

namespace kawara::emit {

int64_t elements_of(const kernel::Buffer& b) {
  return std::max<int64_t>(kernel::element_count(kernel::extents_of(b, {})), 1);
}

SharedLayout shared_layout(const kernel::Kernel& kernel, const kernel::Block& body) {
  SharedLayout layout;
  kernel::visit(body, [&](const kernel::Allocate& allocate) {
    const kernel::Buffer& b = kernel.buffers[allocate.buffer];
    if (layout.offsets.contains(allocate.buffer) || b.scope != kernel::Scope::Shared)
      return;
    layout.offsets[allocate.buffer] = layout.bytes;
    const int64_t bytes = elements_of(b) * scalar::bytes_of(b.elem);
    layout.bytes += (bytes + kCudaAlignment - 1) / kCudaAlignment * kCudaAlignment;
  });
  return layout;
}

} // namespace kawara::emit
