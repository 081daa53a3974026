#pragma once

#include "schedule/auto/facts/perfect_nest.h"

namespace kawara::schedule {

/// Whether a statement of the nest touches elements that follow from data.
bool depends_on_data(const Schedule&, const Nest&);
/// Whether any statement does.
bool depends_on_data(const poly::Scop&);

} // namespace kawara::schedule
