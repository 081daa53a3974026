#pragma once

#include "run/measure.h"

#include <string>

namespace kawara::tools {

/// A line that says why times that differ much may do so; empty where they do not.
std::string spread_note(const run::Timing&);

} // namespace kawara::tools
