#pragma once

#include "schedule/schedule.h"
#include "tune/space/point.h"

#include <vector>

namespace kawara::tune {

/// The steps of the GPU's default schedule; just `auto` where they cannot be said one by one.
std::vector<Directive> gpu_steps(const schedule::Schedule& initial, const schedule::Environment&);

/// What it would be on GPUs with fewer and more multiprocessors, and with less shared memory: other
/// tiles, other numbers of parts and stages.
std::vector<std::vector<Directive>> steps_of_other_gpus(const schedule::Schedule& initial,
                                                        const schedule::Environment&);

} // namespace kawara::tune
