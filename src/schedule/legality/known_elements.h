#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Why a directive that has to know which elements statements touch cannot have its way: an index
/// that it asks for is read from data. Nothing where it needs none of those, as directives do that
/// change the order of iterations alone.
std::optional<Refusal::Shape> refuse_unknown_elements(const Schedule&, const Directive&);

} // namespace kawara::schedule
