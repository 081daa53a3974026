#pragma once

#include "schedule/schedule.h"

namespace kawara::schedule {

/// Warnings (K0262) about vector loops whose width `asked` names and that is no power of two:
/// compilers split such vectors into parts; a product on a Neoverse-V1 was 4 to 5 times slower with
/// 6, 12 or 24 lanes than with 8 or 16 (18 November 2026).
Diagnostics slow_widths(const Schedule&, const std::vector<Directive>& asked, const Environment&);

} // namespace kawara::schedule
