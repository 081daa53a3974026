#pragma once

#include "schedule/schedule.h"

namespace kawara::schedule {

/// The directive that makes `after` of `before`, which differ in how the statements below `loop`
/// share its loops and theirs, and in the order of these.
Arrange arrangement_below(const poly::Scop&, const poly::Order& before, poly::LoopId loop,
                          const poly::Order& after);

/// The directive that gives every statement the loops that it has in `after`, whose rows are those
/// of `before` plus constants. Nothing where some row is none of these.
std::optional<Arrange> arrangement_of(const poly::Scop&, const poly::Order& before,
                                      const poly::Order& after);

} // namespace kawara::schedule
