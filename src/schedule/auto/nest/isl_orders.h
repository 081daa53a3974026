#pragma once

#include "schedule/schedule.h"

namespace kawara::schedule {

/// An order of isl's scheduler that brings nests together, every row of which is an iterator plus a constant. Nothing where there is
/// one nest only, or more than the scheduler answers for in a fraction of a second.
std::optional<poly::Order> fused_order(const Schedule&, bool prefers_parallel);

/// Whether two schedules of one program have the same statements and loops and run the same iterations at the same time.
bool is_same_order(const Schedule& a, const Schedule& b);

} // namespace kawara::schedule
