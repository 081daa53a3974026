#pragma once

#include <CLI/CLI.hpp>

namespace kawara::tools {

/// Adds the sub-command `zoo`, whose callback sets `exit_code`.
void add_zoo(CLI::App&, int& exit_code);

} // namespace kawara::tools
