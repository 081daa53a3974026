#pragma once

#include "schedule/schedule.h"

namespace kawara::schedule {

/// The schedule in an order of isl's scheduler that brings nests together (`arrange`), every row of
/// which is an iterator plus a constant. Nothing where there is one nest only, or more than the
/// scheduler answers for in a fraction of a second.
std::optional<Schedule> fused_schedule(const Schedule&, bool prefers_parallel, const Environment&);

/// Whether two schedules of one program have the same statements and loops and run the same
/// iterations at the same time.
bool is_same_order(const Schedule& a, const Schedule& b);

} // namespace kawara::schedule
