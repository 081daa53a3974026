#pragma once

#include "schedule/auto/facts/nest_facts.h"

namespace kawara::schedule {

/// Whether a statement of the nest touches elements that follow from data.
bool depends_on_data(const Schedule&, const Nest&);
bool depends_on_data(const poly::Scop&);

/// The default schedule of a program with indices that are read from data: the order and the marks
/// of loops alone, nest by nest. Nothing for other programs.
std::optional<Schedule> indexed_schedule(const Schedule&, const Environment&);

/// What the judge says.
bool is_legal(const Schedule&, const Environment&);

} // namespace kawara::schedule
