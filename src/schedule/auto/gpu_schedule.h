#pragma once

#include "schedule/schedule.h"

namespace kawara::schedule {

/// The default schedule for a GPU: every nest bound to blocks and threads where that is legal.
///
/// Products (matrix products, also batched) get tiles of the result per block and per thread and
/// stage both operands in shared memory; two products with a softmax between them (attention) run
/// in one pass. Nests whose rows need a reduction along memory run a block or a warp per row. Other
/// parallel loops become blocks and threads, neighbouring elements in neighbouring threads, four or
/// more at once; a tensor that is read across the grain goes through shared memory. Loops that
/// carry dependences run on the host around launches, or on one thread. Every step passes the
/// judge, a refused one is left out, so anything legal comes out legal.
Schedule gpu_schedule(const Schedule&, const Environment&);

} // namespace kawara::schedule
