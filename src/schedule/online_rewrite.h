#pragma once

#include "schedule/online_chain.h"
#include "schedule/propose.h"

namespace kawara::schedule {

/// The loops of the chain as one, with what keeps their sums right: the statements that online.h shows.
/// The order so far, with those statements added, becomes the source order of the new scop; the loops
/// become one in its order only, so that the judge compares the two.
Proposal rewrite_online(const Schedule&, const Chain&);

} // namespace kawara::schedule
