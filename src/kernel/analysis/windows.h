#pragma once

#include "kernel/kernel.h"

#include <optional>

namespace kawara::kernel {

/// Indices first, first + 1, ..., `size` of them.
struct Window {
  Expr first; ///< in variables from outside the block, and parameters
  int64_t size = 0;
};

/// For each dimension of `buffer`, the smallest window found that holds every index with which
/// `block` touches it. Empty for a dimension where none of constant size was found, and for all
/// when the block does not touch the buffer.
///
///   for y in range(32*y_0, min(H + 2, 32*y_0 + 34)): T[y, x] = ...    T: (32*y_0, 34), none
std::vector<std::optional<Window>> windows_of(const Block& block, uint32_t buffer, size_t rank);

} // namespace kawara::kernel
