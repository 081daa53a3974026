#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Carries out the prefetch marks of loops: at the start of the body, one Prefetch for each cache
/// line that the marked iteration ahead touches, of loops inside in their first iteration; panels
/// are spread over the loops inside (prefetch_panel.h). Elements whose place is known only inside
/// the body (through a load, or a variable that changes) are left out.
Kernel prefetch(Kernel);

} // namespace kawara::kernel
