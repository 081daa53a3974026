#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Runs launches that follow each other and do not need each other as one (horizontal fusion): each
/// launch costs about a microsecond.
///
///   before   launch copy_A blocks(52) threads(256): A_padded[256*block_x + thread_x] = ...
///            launch copy_B blocks(3) threads(256): B_padded[256*block_x + thread_x] = ...
///   after    launch copy_A blocks(55) threads(256):
///              if block_x < 52: A_padded[256*block_x + thread_x] = ...
///              else: B_padded[256*(block_x - 52) + thread_x] = ...
///
/// Needs    the same threads and constant grids; loads, arithmetic and stores without loops,
///          barriers or shared memory; no buffer that one of them stores and the other touches;
///          nothing prepared.
Kernel join_launches(Kernel);

} // namespace kawara::kernel
