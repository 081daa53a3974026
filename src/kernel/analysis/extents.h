#pragma once

#include "kernel/kernel.h"

#include <cstdint>
#include <vector>

namespace kawara::kernel {

/// Extents of a buffer at these parameter values.
std::vector<int64_t> extents_of(const Buffer&, const std::vector<int64_t>& params);
int64_t element_count(const std::vector<int64_t>& extents);

} // namespace kawara::kernel
