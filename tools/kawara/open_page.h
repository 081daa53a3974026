#pragma once

#include "support/diagnostic.h"
#include "support/result.h"

#include <string>

namespace kawara::tools {

/// Shows a file in the reader's browser, by `xdg-open`, which ends at once. Refuses where there
/// is none (K0474).
Result<Done, Diagnostic> open_page(const std::string& path);

/// A new file for a page that is only looked at, in the folder for such files.
std::string passing_page();

} // namespace kawara::tools
