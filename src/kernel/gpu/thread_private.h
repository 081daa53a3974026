#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Buffers of which, as far as indices show, every element that a block touches is touched by one
/// of its threads only: the index tells the thread, in the same way wherever the buffer occurs.
///
///   C[block_x*128 + thread_x*8 + i] with i in 0..7      the thread is (index // 8) % 16
///
/// Loops must still be loops (not unrolled), with constant ends where their variables count.
std::set<uint32_t> thread_private_buffers(const Kernel&, const Launch&);

} // namespace kawara::kernel
