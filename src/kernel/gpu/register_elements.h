#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Keeps small buffers that a thread has to itself in variables, one for each element it touches,
/// or in a private array of just those elements where some accesses are vectors and others not. The
/// kernel's body is that of `launch`.
///
///   before   shared T: f32[64]:                  each element touched by one thread only
///              T[thread_x*4] = a
///              T[thread_x*4 + 1] = b
///              ... T[thread_x*4] ...
///   after    let T_0 = 0; let T_1 = 0
///            T_0 = a; T_1 = b; ... T_0 ...
///
/// Needs    a private buffer, or a shared one of which each element has one thread (Launch::owned);
///          indices that differ by constants, at most kMostRegisterElements of them.
Kernel register_elements(Kernel, const Launch& launch);

inline constexpr size_t kMostRegisterElements = 128;

} // namespace kawara::kernel
