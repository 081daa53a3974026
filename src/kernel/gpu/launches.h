#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Turns loops bound to blocks and threads of a GPU into launches.
///
///   before   for i in range(0, 4):  # block.x
///              for t in range(0, 128):  # thread.x
///                T[t] = A[128*i + t]
///              for t in range(0, 128):  # thread.x
///                B[128*i + t] = T[127 - t]
///   after    launch k_0 blocks(4) threads(128):
///              T[thread_x] = A[128*block_x + thread_x]
///              barrier
///              B[128*block_x + thread_x] = T[127 - thread_x]
///
/// Block loops that stand directly inside each other make one launch; loops and conditions around
/// them stay with the host. What has no block loop is a launch of one block. Inside, loops bound to
/// threads become conditions on the thread, all else is done by the first thread of the axes that
/// are not bound, and threads wait for each other between phases that touch the same buffers
/// (phases.h). A thread loop whose updates all go to one element keeps a partial result per thread
/// and combines them at its end.
///
/// Nests side by side that together have more threads than a block can have are launched one after
/// the other; where they stand in one statement, loops of the last axes run on one thread.
///
/// A block loop whose extent depends on another one of its launch runs inside the block; a thread
/// loop that cannot be a phase (its updates go to several elements that all threads share, or it
/// stands in a loop that threads run different numbers of times) runs serially on one thread.
Kernel launches(Kernel);

} // namespace kawara::kernel
