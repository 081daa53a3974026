#pragma once

#include "schedule/schedule.h"

#include <string>

namespace kawara::driver {

/// The machine that code is made for, by what a user calls it: `cpu` or nothing for this machine's
/// processor, `cpu:sapphirerapids` for one by name, `cpu:sapphirerapids:1` for so many cores of it,
/// `cuda:sm_90a` for a GPU by name, `cuda` for the one in this machine.
///
/// Refuses  a name it does not know (K0301); for `cuda`, a machine without driver or GPU (K0712,
///          K0713).
Parsed<schedule::Environment> environment_for(const std::string& target);

/// Whether the target is a processor by name: its code can be looked at, but need not run here.
bool is_named_cpu(const std::string& target);

} // namespace kawara::driver
