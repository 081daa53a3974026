#pragma once

#include "kernel/kernel.h"

#include <map>

namespace kawara::emit {

/// Where the shared buffers of a launch lie. Each has a place of its own: nothing waits between the
/// last use of one and the first of another.
struct SharedLayout {
  std::map<uint32_t, int64_t> offsets; ///< in bytes, by buffer
  int64_t bytes = 0;
};
SharedLayout shared_layout(const kernel::Kernel&, const kernel::Block& body);

/// Elements of a buffer of constant shape, one at least.
int64_t elements_of(const kernel::Buffer&);

} // namespace kawara::emit
