#pragma once

#include "run/spread.h"

#include <string>

namespace kawara::tools {

/// Processes that want a processor right now, this one left out; 0 where the system does not say.
int64_t other_processes();

/// run/spread.h, with the processes that are busy on this machine now.
std::string spread_note(const run::Timing&, run::RanOn = run::RanOn::Processor);

} // namespace kawara::tools
