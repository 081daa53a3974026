#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Drops the copy dimensions of workspaces (Buffer::private_dims) where an iteration needs no copy but
/// its own, and keeps of the other dimensions only the window that one iteration touches.
///
///   before   for y_0:  # parallel
///              for y in range(8*y_0, 8*y_0 + 10): T[y_0, y] = ...
///              for y_1 in range(0, 8): ... = T[y_0 + y_1 // 8, 8*y_0 + y_1 + 2]
///   after    for y_0:  # parallel
///              allocate T: f32[10]
///                for y in range(8*y_0, 8*y_0 + 10): T[y - 8*y_0] = ...
///                for y_1 in range(0, 8): ... = T[y_1 + 2]
///
/// The buffer becomes private inside parallel loops; below serial ones it stays a workspace.
/// Needs    loops around all accesses whose variables are the copy indices, for every access provably
///          so; elsewhere the copies stay.
Kernel contract_copies(Kernel);

} // namespace kawara::kernel
