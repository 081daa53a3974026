#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Asks, in a loop's body, for the elements that the iteration ahead of it will read in its
/// innermost loops one after the other, when these are too many to be asked for at once: a few in
/// every iteration of the loops inside, so that all have been asked for once when the iteration
/// ends.
///
///   before   for j:  prefetch(B, j)
///              for i in range(0, 8):
///                for k in range(0, 512): ... B[j, k, 0..15] ...
///   after    for j:
///              for i in range(0, 8):
///                for k in range(0, 512):
///                  prefetch B[j + 1, element i*1024 + k*2]
///                  ... B[j, k, 0..15] ...
///
/// Of several rows at equal distances (a tile of a matrix that is read unpacked) the loops that use
/// them again ask for some each.
///
/// Tiles of a product that use the same panel of a copy one after the other, in several nests, ask
/// for a part of the next each. Of the other tensors, where several nests read the same row once
/// each, those that compute much less than another leave the asking to it.
///
/// Returns whether some loop inside reads the buffer in that way; else the body is as it was.
bool prefetch_panel(const Kernel&, For& loop, const poly::Prefetched&);

} // namespace kawara::kernel
