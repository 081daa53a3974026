#pragma once

#include "scalar/type.h"

#include <cstdint>
#include <string>

namespace kawara::emit {

/// Numbers as CUDA C++ spells them: the shortest text that is read back as the same value.
std::string cuda_float_text(double value, scalar::Elem);
std::string cuda_int_text(int64_t value, scalar::Elem);

} // namespace kawara::emit
