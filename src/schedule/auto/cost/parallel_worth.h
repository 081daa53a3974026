#pragma once

#include "schedule/auto/facts/nest_facts.h"

namespace kawara::schedule {

/// Vector instructions, roughly, that one statement takes over all its iterations with so many
/// lanes: functions that are spelled out count by their length.
double steps_of(const Schedule&, poly::StmtId, int64_t iterations, int64_t lanes);

/// Whether that many steps are worth starting threads, which takes some microseconds.
bool is_worth_threads(double steps);

/// Whether all that runs below the loop is.
bool is_worth_threads(const Schedule&, poly::LoopId loop, const Environment&);

/// Of these loops of a nest the first that has iterations for nearly all threads; otherwise the one
/// that has them for the most. Positions; nothing where no loop can be shared.
std::optional<size_t> best_shared_loop(const NestFacts&, const std::vector<size_t>& loops,
                                       int64_t cores);

} // namespace kawara::schedule
