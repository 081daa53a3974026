#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Stores to elements that follow each other over several dimensions (`T[j // 4, j % 4]`), by their
/// position in the buffer; so those that leave a few out in packed buffers (`T[j, 3]`).
Block stored_by_position(const Kernel&, Block body, uint32_t var);

} // namespace kawara::kernel
