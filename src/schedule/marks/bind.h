#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Run the iterations of a loop as blocks or threads of a GPU: `bind(i.0, block.x)`.
///
///   before   for i.0: for i.1:                 S(i)
///   after    bind(i.0, block.x); bind(i.1, thread.x)
///            blocks i.0: threads i.1:          S(i)
///
/// The axes are block.x, block.y, block.z, thread.x, thread.y and thread.z. A nest of block loops
/// is one launch; loops around it run on the host. Threads of one block run in step wherever they
/// must: what one thread loop writes, the next one sees, and a loop around several thread loops is
/// run by all threads together. What stands outside the thread loops of a block is done by one
/// thread. On a CPU bound loops run one iteration after the other.
///
/// Needs    block loops directly inside each other, outside all thread loops; thread loops of
///          constant extent, at most 1024 threads in a block.
/// Legal    when the loop carries no dependence. A reduction into one element may be carried by
///          thread.x, where the numerics contract lets reductions be reassociated: threads then add
///          up what each has.
/// Refuses  a parallel, vector, unrolled or bound loop (K0217), an axis that a loop around or
///          inside has (K0701), blocks elsewhere (K0702), too many threads (K0703).
Proposed propose(const Schedule&, const Bind&, const Environment&);

/// Threads that one block can have.
inline constexpr int64_t kMostThreads = 1024;

} // namespace kawara::schedule
