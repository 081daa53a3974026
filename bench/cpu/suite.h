#pragma once

#include "cpu/contestant.h"
#include "cpu/race.h"
#include "cpu/results.h"

#include <memory>

namespace kawara::bench {

using Contestants = std::vector<std::unique_ptr<Contestant>>;

/// One case: everyone prepares, runs once for the comparison of results, and races.
Row run_case(const Case&, const Contestants&, const RaceOptions&);

/// Peaks of this machine with that many threads.
Limits measured_limits(int64_t threads);

/// Each limit the larger of both: other work on the machine only makes them smaller.
Limits larger_of(const Limits&, const Limits&);

} // namespace kawara::bench
