#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Drops the copy dimensions of workspaces (Buffer::private_dims) where one copy serves all
/// iterations in turn.
///
///   before   for y_0: for y: T[y_0, y] = ...; for y_1: ... = T[y_0 + y_1 // 8, ...]
///   after    for y_0: for y: T[y] = ...;      for y_1: ... = T[...]
///
/// Needs    serial loops around all accesses whose variables are the copy indices, for every access
///          provably so; elsewhere the copies stay.
Kernel contract_copies(Kernel);

} // namespace kawara::kernel
