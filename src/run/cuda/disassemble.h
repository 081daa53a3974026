#pragma once

#include "support/diagnostic.h"

#include <string>

namespace kawara::run {

/// Machine code of a GPU as text, by `nvdisasm` or `cuobjdump` of the CUDA toolkit. Refuses a
/// machine that has neither (K0716).
Result<std::string, Diagnostic> sass_from_cubin(const std::string& cubin);

} // namespace kawara::run
