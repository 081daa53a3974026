#pragma once

#include "schedule/auto/facts/nest_facts.h"
#include "schedule/directive.h"

namespace kawara::schedule {

/// A matrix by a few columns: sums of products whose result is too narrow for lanes. The columns
/// are copied once so that they lie along the reduction, as the rows do, and the reduction runs in
/// lanes. Empty for other nests.
///
///   C[i, j] += A[i, k] * B[k, j], three columns: pack(B); vectorize(k, 4); parallel(i)
std::vector<Directive> dots_plan(const Schedule&, const Nest&, const NestFacts&, const Environment&,
                                 bool may_be_parallel);

} // namespace kawara::schedule
