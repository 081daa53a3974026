#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Simplifies every expression and drops what cannot run: branches with constant conditions, loops
/// without iterations, empty blocks. A loop that runs once gives way to its body.
Kernel simplify(Kernel);

} // namespace kawara::kernel
