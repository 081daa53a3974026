#pragma once

#include "schedule/schedule.h"

#include <string>

namespace kawara::schedule {

/// Two schedules against each other: the directives as a list with `-` for those that only `a` has,
/// `+` for those that only `b` has, then both loop listings side by side.
std::string diff(const Schedule& a, const Schedule& b);

} // namespace kawara::schedule
