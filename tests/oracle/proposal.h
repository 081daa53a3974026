#pragma once

#include "schedule/propose.h"

namespace kawara::oracle {

/// What a directive or a group would make, not judged.
schedule::Proposed proposal_of(const schedule::Schedule&, const schedule::Directive&,
                               const schedule::Environment&);

/// Whether the directive changes statements, not only their order.
bool rewrites_statements(const schedule::Directive&);

} // namespace kawara::oracle
