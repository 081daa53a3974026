#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// The gate that every directive ends in: `proposal` as a schedule with `directive` appended, if
/// the judge finds it legal; else what the judge saw. Nothing else decides.
Result<Schedule, Refusal> require_legal(const Schedule& before, Proposal proposal,
                                        const Directive& directive, const Environment&);

} // namespace kawara::schedule
