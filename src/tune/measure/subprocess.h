#pragma once

#include "support/diagnostic.h"

#include <functional>
#include <string>

namespace kawara::tune {

/// Calls a function in a child process and returns its text: threads that it starts, and memory
/// that it takes, are gone afterwards. What ends the process before it answers is an error (K0640).
Parsed<std::string> run_in_subprocess(const std::function<Parsed<std::string>()>& function);

} // namespace kawara::tune
