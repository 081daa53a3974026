#pragma once

#include "scalar/algebra.h"

#include <string>
#include <vector>

namespace kawara::kernel {

/// What an instruction leaves in its accumulator, by the program that describes it
/// (target/intrinsic.h), or the element of a table (scalar/table.h). `args`: the lanes of every
/// operand, the accumulator last.
std::vector<scalar::Value> evaluate_intrinsic(const std::string& instruction,
                                              std::vector<std::vector<scalar::Value>> args,
                                              const scalar::Algebra& = scalar::numbers());

} // namespace kawara::kernel
