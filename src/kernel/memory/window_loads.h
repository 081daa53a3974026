#pragma once

#include "kernel/kernel.h"

#include <array>

namespace kawara::kernel {

/// Reads of buffers that are images under a window (Buffer::window) become reads of the image, with
/// zero outside it.
///
///   before   W[q, r, s, c]
///   after    image[q // (P * Q), y, x, c] if 0 <= y < H and 0 <= x < W else 0,
///            y = q // Q % P + r - 1, x = q % Q + s - 1
///
/// The read stays inside the image: outside it the nearest row and column are read and not used.
/// Boxes that TMA brings are another matter (warpgroups.h).
Kernel window_loads(Kernel);

/// An index or shape of such a buffer with all four parts: place, r, s, channel of the image;
/// `missing` for those that are left out.
std::array<Expr, 4> whole_index(const program::WindowView&, const std::vector<Expr>&,
                                int64_t missing = 0);

} // namespace kawara::kernel
