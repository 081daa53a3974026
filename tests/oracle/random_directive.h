#pragma once

#include "schedule/schedule.h"

#include <random>

namespace kawara::oracle {

/// A directive drawn for the loops and statements that `schedule` has: every kind, small sizes,
/// sometimes a group of two or three, each drawn for what the members before it make.
schedule::Directive random_directive(const schedule::Schedule&, const schedule::Environment&,
                                     std::mt19937_64& random);

/// `vectorize` of any loop.
schedule::Directive random_lanes(const schedule::Schedule&, std::mt19937_64& random);

/// `arrange`: the order that there is, with loops exchanged or shifted and places changed.
schedule::Directive random_arrangement(const schedule::Schedule&, std::mt19937_64& random);

/// `tensorize` or `online` of loops and an instruction drawn without regard to what they mean.
schedule::Directive random_request(const schedule::Schedule&, std::mt19937_64& random);

} // namespace kawara::oracle
