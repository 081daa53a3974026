#pragma once

#include "schedule/propose.h"
#include "schedule/reductions/online_chain.h"

namespace kawara::schedule {

/// The loops of the chain as one, with what keeps their sums right: the statements that online.h
/// shows. The order so far, with those statements added, becomes the source order of the new scop;
/// the loops become one in its order only, so that the judge compares the two. `says_bounds`:
/// exponents that the running maximum keeps from being positive say so, for code that has a cheaper
/// exponential for them.
Proposal rewrite_online(const Schedule&, const Chain&, bool says_bounds);

} // namespace kawara::schedule
