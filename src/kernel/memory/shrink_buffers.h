#pragma once

#include "kernel/kernel.h"

#include <map>

namespace kawara::kernel {

/// Keeps of each allocated workspace only the window that its Allocates touch, and says where it
/// lives.
///
///   before   for y_0:  # parallel
///              allocate T: f32[H + 2]
///                for y in range(8*y_0, 8*y_0 + 10): T[y] = ...
///                for y_1 in range(0, 8): ... = T[8*y_0 + y_1 + 2]
///   after    for y_0:  # parallel
///              allocate T: f32[10]
///                for y in range(8*y_0, 8*y_0 + 10): T[y - 8*y_0] = ...
///                for y_1 in range(0, 8): ... = T[y_1 + 2]
///
/// Inside a parallel loop the buffer becomes private, inside blocks of a GPU shared; elsewhere it
/// stays a workspace and its Allocates go. A dimension without a window of constant size stays
/// whole.
///
/// `pads` are elements at the end of dimensions, by buffer and dimension, that nothing uses: they
/// stay.
using Pads = std::map<uint32_t, std::vector<int64_t>>;
Kernel shrink_buffers(Kernel, const Pads& pads = {});

} // namespace kawara::kernel
