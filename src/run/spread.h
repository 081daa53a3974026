#pragma once

#include "run/measure.h"

#include <string>

namespace kawara::run {

/// What the measured code ran on, and so what else may have had it.
enum class RanOn { Processor, Gpu };

/// A line that says why times that differ much may do so; empty where they do not. `others` are the
/// processes that want a processor besides this one.
std::string spread_note(const Timing&, RanOn, int64_t others);

} // namespace kawara::run
