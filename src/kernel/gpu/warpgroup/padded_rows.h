#pragma once

#include "kernel/kernel.h"

#include <optional>

namespace kawara::kernel {

/// A copy of a tensor whose rows are longer.
struct PaddedRows {
  uint32_t buffer = 0; ///< a workspace; its last extent is the padded one
  Launch copy;         ///< fills it: zeros behind each row
};

/// A copy of the buffer, of constant shape, with rows of a multiple of `alignment` bytes, of whole
/// cache lines where that adds little; nothing where they are that already.
///
///   launch blocks(1000, 4) threads(256):
///     if k < 784: A_padded[784*block_x + k] = A[777*block_x + k] if k < 777, else 0
std::optional<PaddedRows> padded_rows(Kernel&, uint32_t buffer, int64_t alignment);

} // namespace kawara::kernel
