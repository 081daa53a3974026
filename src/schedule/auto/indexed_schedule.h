#pragma once

#include "schedule/schedule.h"

#include <optional>

namespace kawara::schedule {

/// The default schedule of a program with indices that are read from data: the order and the marks
/// of loops alone, nest by nest. Nothing for other programs.
std::optional<Schedule> indexed_schedule(const Schedule&, const Environment&);

} // namespace kawara::schedule
