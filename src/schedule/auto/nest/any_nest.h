#pragma once

#include "schedule/auto/nest/stencil.h"

namespace kawara::schedule {

/// Directives for a nest, and the name of the rule that they come from.
struct NestPlan {
  std::string rule;
  std::vector<Directive> directives;
};

/// Plans for a perfect nest, best first: each asks for less than the one before. The caller
/// takes the first that the judge accepts. `may_be_parallel`: no loop around runs in parallel.
std::vector<NestPlan> plans_for(const Schedule&, const Nest&, const NestFacts&, const Environment&,
                                bool may_be_parallel);

/// The nest as a small window, where the first of its plans is one.
std::optional<SmallWindow> window_of(const Schedule&, const Nest&, const Environment&);

} // namespace kawara::schedule
