#pragma once

#include "support/diagnostic.h"

#include <string>
#include <string_view>

namespace kawara::run {

/// Whole content of a file. Refuses one that cannot be opened or read (K0420).
Result<std::string, Diagnostic> read_file(const std::string& path);

/// Replaces or creates a file. Refuses where that is not possible (K0425).
Result<Done, Diagnostic> write_file(const std::string& path, std::string_view bytes);

/// An error about a file on disk: `headline` names it, `why` explains, `help` offers a way out.
Diagnostic file_error(std::string code, std::string headline, std::string why, std::string help);

} // namespace kawara::run
