#pragma once

#include "schedule/auto/rule/rule.h"

#include <span>

namespace kawara::schedule {

/// All rules of default schedules, in the order in which they are asked within a phase. A rule is
/// one line of a table and one function.
std::span<const Rule> cpu_rules();
std::span<const Rule> gpu_rules();

} // namespace kawara::schedule
