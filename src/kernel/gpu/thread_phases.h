#pragma once

#include "kernel/gpu/phases.h"

namespace kawara::kernel {

/// The body of a block, loops bound to threads in it, as phases: each thread loop becomes the
/// condition under which a thread takes part, with the loop's variable replaced by the thread's
/// number. `launch` tells the variables and the numbers of threads.
PhaseNodes thread_phases(Kernel&, const Launch& launch, const Block& body);

} // namespace kawara::kernel
