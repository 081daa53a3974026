#pragma once

#include "schedule/auto/rule/rule.h"

namespace kawara::schedule {

// Rules for a few neighbouring elements that are added up for each result (stencil.h).

/// The sums in registers, with the nests around that begin them and use them.
void windows_with_epilogue(const Site&, const Offer&);
/// The sums in registers.
void windows_in_registers(const Site&, const Offer&);

} // namespace kawara::schedule
