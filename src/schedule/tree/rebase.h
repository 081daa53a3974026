#pragma once

#include "schedule/propose.h"

#include <optional>

namespace kawara::schedule {

/// The order without marks: what can be the source of a scop.
poly::Order without_marks(poly::Order);

/// Refuses, under `code`, an order that is not legal by itself, as inside a group: what makes it
/// the source of all that follows (fold, promote) would make it legal by name only.
std::optional<Refusal::Shape> refuse_as_source(const Schedule&, std::string_view code,
                                               const std::string& request, Span where,
                                               const Environment&);

} // namespace kawara::schedule
