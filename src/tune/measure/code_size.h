#pragma once

#include "schedule/schedule.h"

#include <cstddef>

namespace kawara::tune {

/// Whether unrolling makes more copies of some statement than any candidate was seen to gain from.
/// Such code takes the longest to compile.
bool is_unrolled_too_far(const schedule::Schedule&);

/// Bytes that a kernel's text may have where the default's has that many. Much larger code takes
/// the longest to compile and was never seen to win.
size_t most_text_beside(size_t text_of_default);

} // namespace kawara::tune
