#pragma once

namespace kawara::tools {

/// `kawara` with these arguments: reads them, runs the command, prints errors. Returns the exit
/// code (command.h).
int program(int argc, char** argv);

} // namespace kawara::tools
