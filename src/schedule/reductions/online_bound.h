#pragma once

#include "schedule/reductions/rescaling_rule.h"
#include "schedule/schedule.h"

namespace kawara::schedule {

/// Why a running maximum would not keep an exponent of statement `id` in bounds; nothing when it
/// does: the exponent is rate * (e - m) for an e that `extreme` takes into the same m in the same
/// iteration of the first `depth` loops. Then rate * (e - m) lies between 0 and its final value at
/// every moment.
std::optional<std::string> unbounded_exponent(const poly::Scop&, const poly::Order&, size_t depth,
                                              poly::StmtId id, const Exponent&,
                                              poly::StmtId extreme);

} // namespace kawara::schedule
