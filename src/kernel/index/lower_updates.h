#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Spells updates out: `C[i] += v` becomes `C[i] = C[i] + v`, computed in the type that arithmetic
/// on the element type uses.
Kernel lower_updates(Kernel);

} // namespace kawara::kernel
