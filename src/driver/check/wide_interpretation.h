#pragma once

#include "program/interpret/values.h"
#include "support/diagnostic.h"

#include <vector>

namespace kawara::driver {

/// What a program means where every float has 64 bits: its results as the interpreter would have
/// them if sums in narrower types lost nothing. Integers are as they are.
Result<program::Arrays, Diagnostic> interpret_in_f64(const program::Program&,
                                                     const std::vector<int64_t>& sizes,
                                                     const program::Arrays& inputs);

} // namespace kawara::driver
