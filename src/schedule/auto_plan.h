#pragma once

#include "schedule/auto_nest.h"

namespace kawara::schedule {

/// Directive lists for a perfect nest, best first: each asks for less than the one before. The caller
/// takes the first that the judge accepts. `may_be_parallel`: no loop around runs in parallel.
std::vector<std::vector<Directive>> plans_for(const Schedule&, const Nest&, const NestFacts&,
                                              const Environment&, bool may_be_parallel);

} // namespace kawara::schedule
