#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// The first loop in the body of `loop`; null when `loop` is innermost.
const poly::TreeNode* loop_inside(const poly::Order&, poly::LoopId loop);

/// Refuses an order in which a vector loop has a loop inside (K0213): directives after `vectorize`
/// must keep it innermost.
std::optional<Refusal::Shape> refuse_outer_vector_loop(const poly::Scop&, const poly::Order&,
                                                       std::string_view request);

} // namespace kawara::schedule
