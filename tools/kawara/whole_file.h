#pragma once

#include "support/diagnostic.h"
#include "support/result.h"

#include <string>

namespace kawara::tools {

/// Writes the file as a whole or not at all: under the name with `.part` first. Ctrl-C waits until
/// that is done. Refuses what cannot be written (K0425).
Result<Done, Diagnostic> write_whole(const std::string& path, const std::string& text);

} // namespace kawara::tools
