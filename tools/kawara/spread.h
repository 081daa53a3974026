#pragma once

#include "run/spread.h"

#include <string>

namespace kawara::tools {

/// run/spread.h, with the processes that are busy on this machine now.
std::string spread_note(const run::Timing&, run::RanOn = run::RanOn::Processor);

} // namespace kawara::tools
