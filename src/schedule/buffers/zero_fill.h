#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// The proposal with zeros in every element of a temp that no statement writes: a statement under
/// the next free number writes them, before all that use the tensor and, where iterations have
/// copies of it, in each of these iterations. Its loops are called after the dimensions. The
/// proposal itself where every element is written; a sentence when the copies cannot be told apart
/// by the loops around.
///
///   for d0 in range(0, 3): for d1 in range(5, 8):  B_staged[d0, d1] = 0
Result<Proposal, std::string> zero_filled(Proposal, uint32_t tensor);

/// The smallest multiple of `to` that is not below the extent.
scalar::Expr rounded_up(const scalar::Expr& extent, int64_t to);

} // namespace kawara::schedule
