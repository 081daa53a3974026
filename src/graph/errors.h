#pragma once

#include "support/diagnostic.h"

#include <string>

namespace kawara::graph {

/// An error about a model: what is wrong, why, and what to do (may be empty).
Diagnostic model_error(std::string code, std::string headline, std::string why, std::string help);

} // namespace kawara::graph
