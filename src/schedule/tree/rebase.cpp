#include "schedule/tree/rebase.h"

namespace kawara::schedule {

poly::Order without_marks(poly::Order order) {
  for (poly::OrderLoop& loop : order.loops)
    loop.marks = {};
  return order;
}

std::optional<Refusal::Shape> refuse_as_source(const Schedule& schedule, std::string_view code,
                                               const std::string& request, Span where,
                                               const Environment& environment) {
  const poly::Verdict verdict = poly::judge(schedule.scop, schedule.order, environment.quota);
  if (std::holds_alternative<poly::Legal>(verdict))
    return std::nullopt;
  return shape_refusal(code, request, where, "",
                       {"The order so far is not legal by itself, and this directive takes it as "
                        "the source. Take the directives before it out of the group."});
}

} // namespace kawara::schedule
