#pragma once

#include "schedule/schedule.h"

#include <string>
#include <utility>
#include <vector>

namespace kawara::schedule {

/// What a directive would make, before the judge was asked. Every directive is one function
///
///   Proposed propose(const Schedule&, const Split&, const Environment&);
///
/// in a header of its own that carries its card. It looks at the shape of the loops only; whether
/// the new order keeps the meaning is decided afterwards, in one place (require_legal.h), so that
/// the members of a group can pass through orders that would not be legal alone.
struct Proposal {
  poly::Scop scop;
  poly::Order order;
  std::vector<Directive> begun = {}; ///< by `auto`: see Schedule
};
using Proposed = Result<Proposal, Refusal::Shape>;

/// The loops of `schedule` under a new order.
inline Proposal with_order(const Schedule& schedule, poly::Order order) {
  return {schedule.scop, std::move(order)};
}

/// A shape refusal; `where` and `label` are the caret, `body` and `ways_out` may be added.
Refusal::Shape shape_refusal(std::string_view code, std::string headline, Span where = {},
                             std::string label = {}, std::vector<std::string> body = {});

} // namespace kawara::schedule
